//! The emulated switch against Open vSwitch: the same messages and the same frames give the same frames, the same
//! messages to the controller and the same counters.
//!
//! Open vSwitch runs as it does in production, with its own database and daemon in a folder of the test's, and dummy ports
//! in the place of network cards (`ovs.rs`). The corpora are named cases; every difference is shown with the steps that led
//! to it and both outcomes.

mod both;
mod corpus_v10;
mod corpus_v13;
mod frames;
mod ovs;
mod pcap;
mod seen;
mod unixctl;

use aldis_wire::Version;

#[test]
fn the_corpus_of_1_0() {
    both::run_corpus(Version::V10, corpus_v10::cases());
}

#[test]
fn the_corpus_of_1_3() {
    both::run_corpus(Version::V13, corpus_v13::cases());
}
