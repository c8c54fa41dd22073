//! An emulated network under a controller, until the test ends.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use aldis_emulator::network::{self, NetworkPlan, ScriptStep};
use aldis_emulator::topology::Shape;
use aldis_wire::Version;

use crate::running::{Running, WITHIN};

/// A network that stays connected until this is dropped.
#[derive(Debug)]
pub struct Network {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Network {
    /// Connects a network of this shape, in which this happens.
    pub fn start(controller: &Running, version: Version, shape: &str, script: &[&str]) -> Network {
        let address: SocketAddr = controller.address.parse().unwrap();
        let topology = shape.parse::<Shape>().unwrap().lay_out(None, 1).unwrap();
        let script = script.iter().map(|line| line.parse::<ScriptStep>().unwrap()).collect();
        // It stays when its script is over.
        let plan = NetworkPlan {
            script,
            connect_within: WITHIN,
            length: Some(Duration::from_secs(3600)),
            ..NetworkPlan::new(address, version, topology)
        };
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            // Where it fails, what the test waits for does not come.
            if let Err(why) = network::run(&plan, &seen, &mut |_| {}) {
                eprintln!("the network: {why}");
            }
        });
        Network { stop, thread: Some(thread) }
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
