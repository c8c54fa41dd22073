//! Why no switch connects: the controller does not run, a switch is told another address, another
//! version or other encryption, or something between them swallows packets.

use super::is_up;
use crate::facts::{Answer, BridgeFacts, Facts, ListenerFacts, TargetFacts, Tried};
use crate::finding::{Diagnosis, Finding, Severity};

/// Where a controller listens unless it is told otherwise, and where older ones did.
const OPENFLOW_PORTS: [u16; 2] = [6653, 6633];

/// The name of the controller's process.
const OURS: &str = "aldis";

/// The versions that the controller speaks, as Open vSwitch calls them.
const SPOKEN: [&str; 2] = ["OpenFlow13", "OpenFlow10"];

/// Another program has the port of controllers.
pub const PORT_TAKEN: Diagnosis = Diagnosis {
    id: "port-taken",
    severity: Severity::Fault,
    title: "another program, {program}, has port {port}, and switches connect to that",
    shown_by: "the kernel's list of sockets that listen, while no Aldis answers",
    what_to_do: "Stop {program} (process {pid}), or run Aldis on another port and have the switches \
                 connect to that.",
    command: "kill {pid} && aldis run",
};

/// No controller runs.
pub const NOT_RUNNING: Diagnosis = Diagnosis {
    id: "controller-not-running",
    severity: Severity::Fault,
    title: "no controller runs on this machine",
    shown_by: "nothing answers over HTTP, and nothing listens on port 6653 or 6633",
    what_to_do: "Start it; or, where it runs elsewhere, say where with --http or ALDIS_HTTP.",
    command: "aldis run",
};

/// A controller somewhere else does not answer.
pub const NO_ANSWER: Diagnosis = Diagnosis {
    id: "controller-not-reached",
    severity: Severity::Fault,
    title: "no controller answers at {url}",
    shown_by: "a connection to the address that --http or ALDIS_HTTP says",
    what_to_do: "Check the address, and whether the controller serves HTTP beyond its own machine \
                 (`--http ADDRESS:PORT` there, with keys).",
    command: "aldis doctor --http http://HOST:8080",
};

/// It runs, and serves no HTTP where it was asked.
pub const NO_HTTP: Diagnosis = Diagnosis {
    id: "controller-without-http",
    severity: Severity::Warning,
    title: "the controller runs, and cannot be asked at {url}",
    shown_by: "its process listens for switches, and nothing answers over HTTP",
    what_to_do: "Say with --http where it serves HTTP; or start it anew without --http off, or when \
                 port 8080 is free.",
    command: "aldis doctor --http http://HOST:PORT",
};

/// No version in common.
pub const VERSION: Diagnosis = Diagnosis {
    id: "version-mismatch",
    severity: Severity::Fault,
    title: "{about} speaks no version of OpenFlow that the controller speaks",
    shown_by: "the protocols of the bridge, or the HELLO that the controller refused",
    what_to_do: "Have the switch speak OpenFlow 1.3 or 1.0.",
    command: "ovs-vsctl set bridge {bridge} protocols=OpenFlow10,OpenFlow13",
};

/// A switch speaks TLS to a port without.
pub const TLS_TO_PLAIN: Diagnosis = Diagnosis {
    id: "tls-to-plain-port",
    severity: Severity::Fault,
    title: "{about} speaks TLS to a port of the controller that is for plain OpenFlow",
    shown_by: "the first bytes of the connection, which the controller refused",
    what_to_do: "Have the switch connect with tcp:, or to the port of --tls-listen of a controller \
                 that has a certificate (`aldis pki` makes one).",
    command: "ovs-vsctl set-controller BRIDGE tcp:HOST:6653",
};

/// TLS failed.
pub const TLS_REFUSED: Diagnosis = Diagnosis {
    id: "tls-refused",
    severity: Severity::Fault,
    title: "the encrypted connection of {about} is refused",
    shown_by: "TLS failed at the controller, or the certificate is not that of the switch",
    what_to_do: "Give the switch a certificate of the controller's authority, for its own datapath \
                 id, and check the clocks. A switch without TLS connects to the plain port.",
    command: "aldis pki pki --switch DPID && ovs-vsctl set-ssl KEY CERTIFICATE CA",
};

/// A bridge that is to speak TLS has nothing to show.
pub const NO_CERTIFICATE: Diagnosis = Diagnosis {
    id: "tls-without-certificate",
    severity: Severity::Fault,
    title: "bridge {bridge} is to connect with TLS, and Open vSwitch has no certificate",
    shown_by: "the target of the bridge begins with ssl:, and the table SSL is empty",
    what_to_do: "Make a certificate for the switch, and hand it to Open vSwitch.",
    command: "aldis pki pki --switch {dpid} && ovs-vsctl set-ssl KEY CERTIFICATE CA",
};

/// Nothing listens where a bridge connects to.
pub const WRONG_PORT: Diagnosis = Diagnosis {
    id: "wrong-port",
    severity: Severity::Fault,
    title: "bridge {bridge} connects to {target}, where nothing listens",
    shown_by: "the target of the bridge, and a connection to it that was refused",
    what_to_do: "Have it connect to where the controller listens.",
    command: "ovs-vsctl set-controller {bridge} tcp:{host}:{port}",
};

/// A bridge connects to another machine, and the controller is here.
pub const WRONG_ADDRESS: Diagnosis = Diagnosis {
    id: "wrong-address",
    severity: Severity::Fault,
    title: "bridge {bridge} connects to {target}, which is not where the controller is",
    shown_by: "the target of the bridge, which is no address of this machine and does not answer",
    what_to_do: "Have it connect to where the controller listens.",
    command: "ovs-vsctl set-controller {bridge} tcp:127.0.0.1:{port}",
};

/// Packets on the way to the controller are lost.
pub const UNREACHABLE: Diagnosis = Diagnosis {
    id: "firewall",
    severity: Severity::Fault,
    title: "what bridge {bridge} sends to {target} is not answered: a firewall, or a wrong address",
    shown_by: "a connection to the target of the bridge, to which nothing came back",
    what_to_do: "Check the address, then the rules of the firewall on both machines and between \
                 them: TCP to this port has to pass.",
    command: "nft list ruleset; iptables -nL; ping HOST",
};

/// A bridge has no controller.
pub const NO_CONTROLLER: Diagnosis = Diagnosis {
    id: "bridge-without-controller",
    severity: Severity::Warning,
    title: "bridge {bridge} is not told of any controller",
    shown_by: "the bridge's list of controllers, which is empty",
    what_to_do: "Tell it, unless it is to forward by itself.",
    command: "ovs-vsctl set-controller {bridge} tcp:127.0.0.1:{port}",
};

/// A handshake does not come to its end.
pub const HANDSHAKE: Diagnosis = Diagnosis {
    id: "handshake-failed",
    severity: Severity::Fault,
    title: "{about} connects and does not become a switch",
    shown_by: "the controller's reason for closing the connection",
    what_to_do: "Check that it is an OpenFlow switch, and what it logs itself.",
    command: "curl -s http://127.0.0.1:8080/api/v1/log?level=warn",
};

/// The controller takes no more connections.
pub const NO_ROOM: Diagnosis = Diagnosis {
    id: "no-room-for-switches",
    severity: Severity::Fault,
    title: "the controller turns switches away: it has as many connections as it may have",
    shown_by: "the controller, which counts connections that it turned away",
    what_to_do: "Let it open more files.",
    command: "ulimit -n 65536 && aldis run",
};

/// Nothing tries to connect.
pub const NO_SWITCH: Diagnosis = Diagnosis {
    id: "no-switch",
    severity: Severity::Fault,
    title: "the controller runs, and no switch connects",
    shown_by: "the controller's list of switches, which is empty, and nothing that it refused",
    what_to_do: "Have switches connect to the address of this machine. With Mininet: \
                 mn --controller remote,ip=127.0.0.1,port={port}.",
    command: "ovs-vsctl set-controller BRIDGE tcp:127.0.0.1:{port}",
};

/// Open vSwitch is here, and does not run.
pub const OVS_DOWN: Diagnosis = Diagnosis {
    id: "open-vswitch-not-running",
    severity: Severity::Warning,
    title: "Open vSwitch is installed on this machine, and does not run",
    shown_by: "ovs-vsctl, which finds no database, while the controller has no switch",
    what_to_do: "Start it, where the switches are to be on this machine.",
    command: "service openvswitch-switch start",
};

/// Whether there is a controller to connect to.
pub fn controller(facts: &Facts) -> Vec<Finding> {
    let controller = &facts.controller;
    if controller.answer != Answer::NoListener {
        return vec![];
    }
    let url = ("url", &*controller.url);
    if !controller.is_here {
        return vec![NO_ANSWER.found(&[url], [])];
    }
    let listeners = facts.machine.listeners.iter();
    let of_openflow = listeners.clone().find(|listener| OPENFLOW_PORTS.contains(&listener.port));
    let name = |listener: &ListenerFacts| {
        listener.process.as_ref().map_or("unknown".to_owned(), |(_, name)| name.clone())
    };
    if let Some(listener) = listeners.clone().find(|listener| name(listener) == OURS) {
        let words = format!("{OURS} listens on {}:{}", listener.address, listener.port);
        return vec![NO_HTTP.found(&[url], [words])];
    }
    let Some(listener) = of_openflow else {
        return vec![NOT_RUNNING.found(&[], [format!("nothing answers at {}", controller.url)])];
    };
    let (program, port) = (name(listener), listener.port.to_string());
    let pid = listener.process.as_ref().map_or("PID".to_owned(), |(pid, _)| pid.to_string());
    let words = format!("{program} (process {pid}) listens on {}:{port}", listener.address);
    vec![PORT_TAKEN.found(&[("program", &program), ("port", &port), ("pid", &pid)], [words])]
}

/// What the controller refused, by its own account.
pub fn known(facts: &Facts) -> Vec<Finding> {
    let mut all = [TLS_TO_PLAIN, TLS_REFUSED, HANDSHAKE, NO_ROOM]
        .iter()
        .filter_map(|diagnosis| super::known(facts, diagnosis))
        .collect::<Vec<_>>();
    // Of a bridge on this machine more is known than an address.
    if wrong_versions(facts).is_empty()
        && let Some(found) = super::known(facts, &VERSION)
    {
        let command = found.command.replace("{bridge}", "BRIDGE");
        all.push(Finding { command, ..found });
    }
    all
}

/// Whether a bridge is served, by the controller or by what the database says.
fn is_served(facts: &Facts, bridge: &BridgeFacts) -> bool {
    match &bridge.dpid {
        Some(dpid) if is_up(facts) => {
            let switches = facts.controller.switches.iter().flatten();
            switches.map(|switch| &switch.dpid).any(|found| found == dpid)
        }
        _ => bridge.controllers.iter().any(|target| target.is_connected),
    }
}

/// Bridges of this machine that have controllers, and are not served.
fn unserved(facts: &Facts) -> Vec<(&BridgeFacts, &TargetFacts)> {
    let bridges = facts.ovs.iter().flat_map(|ovs| &ovs.bridges);
    let unserved = bridges.filter(|bridge| !is_served(facts, bridge));
    unserved
        .flat_map(|bridge| bridge.controllers.iter().map(move |target| (bridge, target)))
        .collect()
}

/// Bridges that speak no version of the controller's.
fn wrong_versions(facts: &Facts) -> Vec<&BridgeFacts> {
    let unserved = unserved(facts).into_iter();
    let mut all: Vec<_> = unserved
        .map(|(bridge, _)| bridge)
        .filter(|bridge| !SPOKEN.iter().any(|version| bridge.speaks(version)))
        .collect();
    all.dedup_by_key(|bridge| &bridge.name);
    all
}

/// The port that a switch is to connect to.
fn port(facts: &Facts) -> String {
    let own = facts.machine.process.iter().flat_map(|process| &process.ports);
    let own: Vec<u16> = own.copied().collect();
    let usual = OPENFLOW_PORTS.into_iter().find(|port| own.contains(port));
    let http = facts.controller.url.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
    let other = || own.iter().copied().find(|port| Some(*port) != http);
    usual.or_else(other).unwrap_or(OPENFLOW_PORTS[0]).to_string()
}

/// What is wrong with how bridges of this machine are told to connect.
pub fn targets(facts: &Facts) -> Vec<Finding> {
    let port = port(facts);
    let mut all = Vec::new();
    if let [bridge, ..] = wrong_versions(facts)[..] {
        let words = wrong_versions(facts).into_iter().map(|bridge| {
            format!("bridge {} speaks {} alone", bridge.name, bridge.protocols.join(", "))
        });
        let about = format!("bridge {}", bridge.name);
        all.push(VERSION.found(&[("about", &about), ("bridge", &bridge.name)], words));
    }
    let has_certificate = facts.ovs.as_ref().is_some_and(|ovs| ovs.has_certificate);
    for diagnosis in [&NO_CERTIFICATE, &WRONG_PORT, &WRONG_ADDRESS, &UNREACHABLE] {
        let unserved = unserved(facts).into_iter();
        let of_it: Vec<_> = unserved
            .filter(|(_, target)| judge(facts, target, has_certificate) == Some(diagnosis))
            .collect();
        all.extend(of_targets(diagnosis, &of_it, &port));
    }
    let bridges = facts.ovs.iter().flat_map(|ovs| &ovs.bridges);
    let alone: Vec<_> = bridges.filter(|bridge| bridge.controllers.is_empty()).collect();
    if let [bridge, ..] = alone[..] {
        let words = alone.iter().map(|bridge| format!("bridge {}", bridge.name));
        all.push(NO_CONTROLLER.found(&[("bridge", &bridge.name), ("port", &port)], words));
    }
    all
}

/// What is wrong with a target that does not lead to a controller, if that can be told from it.
fn judge(facts: &Facts, target: &TargetFacts, has_certificate: bool) -> Option<&'static Diagnosis> {
    let is_tls = target.protocol() == "ssl";
    match target.tried {
        Some(Tried::Refused) if !target.is_here => Some(&WRONG_ADDRESS),
        // Where no controller runs, that is said instead.
        Some(Tried::Refused) => is_up(facts).then_some(&WRONG_PORT),
        Some(Tried::Silent) => Some(&UNREACHABLE),
        Some(Tried::NoRoute) => Some(&WRONG_ADDRESS),
        _ => (is_tls && !has_certificate).then_some(&NO_CERTIFICATE),
    }
}

fn of_targets(
    diagnosis: &Diagnosis,
    all: &[(&BridgeFacts, &TargetFacts)],
    port: &str,
) -> Option<Finding> {
    let (bridge, target) = all.first()?;
    let words = all.iter().map(|(bridge, target)| {
        let error = match (&*target.last_error, &*target.state) {
            ("", "") => "not connected",
            ("", state) => state,
            (error, _) => error,
        };
        format!("bridge {}: {}: {error}", bridge.name, target.target)
    });
    let host = target.address().map_or("127.0.0.1".to_owned(), |address| address.ip().to_string());
    let about = [
        ("bridge", &*bridge.name),
        ("target", &target.target),
        ("host", &host),
        ("port", port),
        ("dpid", bridge.dpid.as_deref().unwrap_or("DPID")),
    ];
    Some(diagnosis.found(&about, words))
}

/// Nothing connects, and nothing says why.
pub fn no_switch(facts: &Facts) -> Vec<Finding> {
    let has_switches = facts.controller.health.switches > 0
        || facts.controller.switches.iter().any(|switches| !switches.is_empty());
    if !is_up(facts) || has_switches || !known(facts).is_empty() || !targets(facts).is_empty() {
        return vec![];
    }
    let words = format!("{} has no switch, and refused none", facts.controller.url);
    let is_down = facts.ovs.as_ref().is_some_and(|ovs| ovs.is_down);
    let down = is_down.then(|| OVS_DOWN.found(&[], []));
    down.into_iter().chain([NO_SWITCH.found(&[("port", &port(facts))], [words])]).collect()
}

#[cfg(test)]
mod tests;
