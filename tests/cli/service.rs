//! `aldis run` under a service manager: what systemd is told of it.

use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};

use aldis_testkit::Folder;
use aldis_testkit::running::WITHIN;
use rustix::process::{Pid, Signal, kill_process};

#[test]
fn the_service_manager_is_told_of_readiness_life_rereading_and_the_end() {
    let folder = Folder::new("service");
    let path = folder.file("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(WITHIN)).unwrap();
    let mut run = Command::new(env!("CARGO_BIN_EXE_aldis"));
    run.args(["run", "--listen", "127.0.0.1:0", "--http", "off"]).stdin(Stdio::null());
    run.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "400000").stderr(Stdio::null());
    let mut run = run.spawn().unwrap();
    let pid = Pid::from_child(&run);
    let told = || {
        let mut bytes = [0; 256];
        let length = socket.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    };
    assert_eq!(told(), "READY=1\n");
    // Once more than once: its workers sleep meanwhile, and are roused for it.
    for _ in 0..3 {
        assert_eq!(told(), "WATCHDOG=1\n");
    }
    let after = || std::iter::repeat_with(told).find(|told| told != "WATCHDOG=1\n").unwrap();
    kill_process(pid, Signal::HUP).unwrap();
    assert!(after().starts_with("RELOADING=1\nMONOTONIC_USEC="));
    assert_eq!(after(), "READY=1\n");
    kill_process(pid, Signal::TERM).unwrap();
    assert_eq!(after(), "STOPPING=1\n");
    assert_eq!(run.wait().unwrap().code(), Some(0));
}
