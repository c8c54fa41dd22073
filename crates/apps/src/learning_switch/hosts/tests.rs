//! How many hosts a switch remembers, and which it forgets.

use core::time::Duration;

use aldis_wire::MacAddr;

use super::*;

const SEED: [u8; 16] = *b"\x1b\x8f\x35\xd2\x6c\xe0\x47\xa9\x53\xf1\x0d\x96\x7e\x2b\xc4\x68";

fn hosts(hosts_max: usize) -> SwitchHosts {
    let config = LearningConfig { hosts_max, ..LearningConfig::new(Seed::new(SEED)) };
    SwitchHosts::new(&config, Time::START, &[])
}

fn key(host: u64) -> MacKey {
    MacKey::from(MacAddr::from_u64(host))
}

impl SwitchHosts {
    /// Learns a host behind port 1; answers how many were forgotten for it.
    fn meets(&self, vlan: Vlan, host: u64, second: u64) -> usize {
        let (learnt, evicted) = self.learn(vlan, key(host), 1, self.at(second));
        assert_eq!(learnt, Learnt::Here, "host {host}");
        evicted
    }

    fn knows(&self, vlan: Vlan, host: u64, second: u64) -> bool {
        self.find(vlan, key(host), self.at(second)) == Some(1)
    }

    fn at(&self, second: u64) -> Epoch {
        self.ageing.epoch(Time::START + Duration::from_secs(second))
    }

    fn lines(&self) -> usize {
        let map = self.map.load();
        map.untagged.lines() + map.tagged.iter().map(|(_, table)| table.lines()).sum::<usize>()
    }
}

#[test]
fn a_hundred_thousand_hosts_fit_into_two_mebibytes() {
    let hosts = hosts(1_000_000);
    assert_eq!(hosts.lines(), LINES_MIN);
    assert_eq!((1..=100_000).map(|host| hosts.meets(UNTAGGED, host, 0)).sum::<usize>(), 0);
    assert_eq!(hosts.lines() * 64, 2 << 20);
    assert!((1..=100_000).all(|host| hosts.knows(UNTAGGED, host, 0)));
}

#[test]
fn where_the_room_ends_those_silent_longest_go_and_are_counted() {
    let hosts = hosts(1000);
    let second = |host: u64| host / 20;
    let evicted: usize = (1..=4000).map(|host| hosts.meets(UNTAGGED, host, second(host))).sum();
    let known: Vec<u64> = (1..=4000).filter(|&host| hosts.knows(UNTAGGED, host, 200)).collect();
    assert_eq!(known.len() + evicted, 4000);
    assert!(known.len() >= 1000 && hosts.lines() * WORDS <= 2048);
    // Of the youngest epoch, and of the one before it, no host had to go.
    assert!((3100..=4000).all(|host| hosts.knows(UNTAGGED, host, 200)));
}

#[test]
fn the_room_is_one_for_all_vlans() {
    let hosts = hosts(10_000);
    for vlan in 1..=40 {
        let evicted: usize = (1..=1000).map(|host| hosts.meets(vlan, host, 0)).sum();
        assert!(evicted < 1000 && hosts.knows(vlan, 1000, 0));
    }
    assert!(hosts.lines() <= 16_384 / WORDS + 41 * LINES_MIN);
}

#[test]
fn those_who_do_not_count_any_more_make_room_first() {
    let hosts = hosts(1000);
    for round in 0..20 {
        // In life the sweep takes care that no old word looks young again.
        let parts = hosts.ageing.pass_s();
        (0..parts).for_each(|_| drop(hosts.second(Time::START + Duration::from_secs(round * 301))));
        let met = (1..=700).map(|host| hosts.meets(UNTAGGED, round * 10_000 + host, round * 301));
        assert_eq!(met.sum::<usize>(), 0, "round {round}");
    }
}
