//! The emulated switch against Open vSwitch: the same messages and the same frames give the same
//! frames, the same messages to the controller and the same counters.
//!
//! Open vSwitch runs as it does in production, with its own database and daemon in a folder of the
//! test's, and dummy ports in the place of network cards (`ovs.rs`). The corpora are named cases;
//! the random programs are flows and frames drawn from few values, so that they meet, and a
//! difference is shrunk to the fewest of both before it is shown.
//!
//! ```text
//! ALDIS_CERTIFY_PROGRAMS=20000 ALDIS_CERTIFY_SEED=7 \
//!     cargo test -p aldis-emulator --test certify -- --nocapture
//! ```

mod both;
mod corpus_ports;
mod corpus_v10;
mod corpus_v13;
mod frames;
mod meters;
mod ovs;
mod pcap;
mod random;
mod random_v10;
mod random_v13;
mod seen;
mod step;
mod unixctl;

use aldis_wire::Version;
use both::BothSwitches;

#[test]
fn the_corpus_of_1_0() {
    both::run_corpus(BothSwitches::start(Version::V10), corpus_v10::cases());
}

#[test]
fn the_corpus_of_1_3() {
    both::run_corpus(BothSwitches::start(Version::V13), corpus_v13::cases());
}

#[test]
fn ports_of_1_0() {
    both::run_corpus(BothSwitches::start(Version::V10), corpus_ports::cases(Version::V10));
}

#[test]
fn ports_of_1_3() {
    both::run_corpus(BothSwitches::start(Version::V13), corpus_ports::cases(Version::V13));
}

#[test]
fn the_corpus_of_meters() {
    both::run_corpus(BothSwitches::start_at_rest(Version::V13), meters::cases());
}

#[test]
fn random_meters() {
    random::run(|| BothSwitches::start_at_rest(Version::V13), meters::program);
}

#[test]
fn random_programs_of_1_0() {
    random::run(|| BothSwitches::start(Version::V10), random_v10::program);
}

#[test]
fn random_programs_of_1_3() {
    random::run(|| BothSwitches::start(Version::V13), random_v13::program);
}
