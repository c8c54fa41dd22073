//! Dialogues: seconds pass, a switch answers, and the World says what was counted.

use aldis_control::Part;
use aldis_control::app::Event;
use aldis_control::session::SwitchError;
use aldis_control::world::PartId;
use aldis_wire::msg::{
    FlowModFlags, FlowStats, Match, Message, PortNo, PortStats, QueueNo, QueueStats, StatsFlags,
    StatsReply, StatsReplyBody, StatsRequest, StatsRequestBody, TableNo, TableStats,
};
use aldis_wire::{DatapathId, Version};

use super::*;
use crate::testing::switch::TestSwitch;

const READS: &[PartId] = &[Statistics::ID];

fn bench(version: Version, config: MonitorConfig) -> TestSwitch {
    TestSwitch::new(version, |app_set| app_set.with(move || Monitor::new(config)))
}

fn every(seconds: u64) -> MonitorConfig {
    MonitorConfig { interval: Duration::from_secs(seconds), ..MonitorConfig::default() }
}

/// The requests of the second in which the switch is asked.
fn request(bench: &mut TestSwitch) -> Vec<(u32, StatsRequestBody)> {
    let said = (0..20).map(|_| bench.second()).find(|said| !said.is_empty());
    let request = |(xid, message)| match message {
        Message::StatsRequest(StatsRequest { body, .. }) => (xid, body),
        other => panic!("{other:?}"),
    };
    said.expect("it is asked").into_iter().map(request).collect()
}

fn answer(bench: &mut TestSwitch, xid: u32, more: bool, body: StatsReplyBody) {
    let flags = if more { StatsFlags::MORE } else { StatsFlags::EMPTY };
    let message = Box::new(Message::StatsReply(StatsReply { flags, body }));
    assert!(bench.happens(Event::Reply { xid, message }).is_empty());
}

fn port(number: u32, rx_packets: u64, tx_bytes: u64) -> PortStats {
    PortStats {
        port_no: PortNo(number),
        rx_packets,
        tx_packets: u64::MAX,
        rx_bytes: 0,
        tx_bytes,
        rx_dropped: 0,
        tx_dropped: 0,
        rx_errors: 0,
        tx_errors: 0,
        rx_frame_err: 0,
        rx_over_err: 0,
        rx_crc_err: 0,
        collisions: 0,
        duration_sec: 0,
        duration_nsec: 0,
    }
}

fn flow(priority: u16, byte_count: u64) -> FlowStats {
    FlowStats {
        table_id: TableNo(0),
        duration_sec: 1,
        duration_nsec: 0,
        priority,
        idle_timeout: 0,
        hard_timeout: 0,
        flags: FlowModFlags::EMPTY,
        cookie: 0,
        packet_count: byte_count / 100,
        byte_count,
        match_: Match::new().in_port(PortNo(u32::from(priority))),
        instructions: vec![],
    }
}

#[test]
fn it_asks_for_each_kind_once_an_interval() {
    for version in Version::ALL {
        let mut bench = bench(version, every(5));
        let first = request(&mut bench);
        let kinds: Vec<_> = first.iter().map(|(_, body)| body.multipart_type()).collect();
        assert_eq!(kinds, StatisticsKind::ALL.map(|kind| kind.request().multipart_type()));
        for _ in 0..4 {
            assert!(bench.second().is_empty());
        }
        let again = request(&mut bench);
        assert!(again.iter().all(|(xid, _)| first.iter().all(|(other, _)| other != xid)));
    }
}

#[test]
fn replies_in_parts_become_one_sample_and_two_samples_rates() {
    let mut bench = bench(Version::V13, every(5));
    let requests = request(&mut bench);
    answer(&mut bench, requests[0].0, true, StatsReplyBody::PortStats(vec![port(1, 100, 9)]));
    assert!(bench.world(READS).part::<Statistics>().of(DatapathId(1)).is_none());
    answer(&mut bench, requests[0].0, false, StatsReplyBody::PortStats(vec![port(2, 7, u64::MAX)]));
    let dpid = DatapathId(1);
    let ports = |bench: &mut TestSwitch| {
        let world = bench.world(READS);
        let switch = world.part::<Statistics>().of(dpid).expect("it was counted");
        switch.ports.rows.iter().map(|row| (row.stats.port_no.0, row.rates)).collect::<Vec<_>>()
    };
    assert_eq!(ports(&mut bench), [(1, None), (2, None)]);
    let then = bench.now;
    let requests = request(&mut bench);
    // The other order, and a third one.
    let rows = vec![port(3, 1, 1), port(2, 5, 8), port(1, 1100, 5009)];
    answer(&mut bench, requests[0].0, false, StatsReplyBody::PortStats(rows));
    let passed = bench.now.since(then).as_secs() + 1;
    let seen = ports(&mut bench);
    let [(3, None), (2, Some(second)), (1, Some(first))] = seen[..] else { panic!("{seen:?}") };
    assert_eq!((second.rx_packets, second.tx_packets, second.tx_bytes), (None, None, None));
    let rate = first.rx_packets.expect("it counts");
    assert!(rate <= 1000 / (passed - 1) && rate >= 1000 / (passed + 1), "{rate} in {passed} s");
    bench.happens(Event::Down);
    assert!(bench.world(READS).part::<Statistics>().of(dpid).is_none());
}

#[test]
fn of_many_flows_the_busiest_are_kept_and_the_others_counted() {
    let mut bench = bench(Version::V10, MonitorConfig { flows_max: 3, ..every(1) });
    for round in 1..=2 {
        let requests = request(&mut bench);
        let flows = (1..=50).map(|number| flow(number, u64::from(number) * 1000 * round));
        let mut flows: Vec<_> = flows.collect();
        // One that does not count.
        flows[40].byte_count = u64::MAX;
        for part in flows.chunks(7) {
            answer(&mut bench, requests[1].0, true, StatsReplyBody::Flow(part.to_vec()));
        }
        answer(&mut bench, requests[1].0, false, StatsReplyBody::Flow(vec![]));
    }
    let world = bench.world(READS);
    let flows = &world.part::<Statistics>().of(DatapathId(1)).unwrap().flows;
    let mut kept: Vec<_> = flows.rows.iter().map(|row| row.stats.priority).collect();
    kept.sort_unstable();
    assert_eq!((kept, flows.left_out), (vec![48, 49, 50], 47));
    assert!(flows.rows.iter().all(|row| row.rates.is_some_and(|rates| rates.bytes > Some(0))));
}

#[test]
fn tables_and_queues_are_counted_too() {
    let mut bench = bench(Version::V13, every(2));
    for round in [1, 2] {
        let requests = request(&mut bench);
        let (lookup_count, matched_count) = (5000 * round, 2000 * round);
        let table =
            TableStats { table_id: TableNo(0), active_count: 3, lookup_count, matched_count };
        answer(&mut bench, requests[2].0, false, StatsReplyBody::Table(vec![table]));
        let queue = QueueStats {
            port_no: PortNo(1),
            queue_id: QueueNo(7),
            tx_bytes: 8000 * round,
            tx_packets: 80 * round,
            tx_errors: 0,
            duration_sec: 0,
            duration_nsec: 0,
        };
        answer(&mut bench, requests[3].0, false, StatsReplyBody::Queue(vec![queue]));
    }
    let world = bench.world(READS);
    let switch = world.part::<Statistics>().of(DatapathId(1)).unwrap();
    let table = switch.tables.rows[0].rates.unwrap();
    assert!(table.lookups > table.matches && table.matches > Some(0));
    let queue = switch.queues.rows[0].rates.unwrap();
    assert_eq!((queue.tx_errors, queue.tx_bytes > Some(1000)), (Some(0), true));
}

#[test]
fn what_a_switch_refuses_it_is_not_asked_again_until_it_comes_back() {
    let mut bench = bench(Version::V10, every(1));
    let requests = request(&mut bench);
    let error = SwitchError {
        dpid: None,
        xid: requests[3].0,
        name: "OFPET_QUEUE_OP_FAILED/OFPQOFC_EPERM".into(),
        about: None,
        hint: "",
        sent: vec![],
    };
    bench.happens(Event::Error(Box::new(error)));
    assert_eq!(request(&mut bench).len(), 3);
    bench.joins();
    assert_eq!(request(&mut bench).len(), 4);
}

#[test]
fn a_reply_to_nobody_and_one_of_another_kind_are_no_sample() {
    let mut bench = bench(Version::V13, every(1));
    let requests = request(&mut bench);
    let ports = StatsReplyBody::PortStats(vec![port(1, 1, 1)]);
    answer(&mut bench, requests[0].0 + 1000, false, ports.clone());
    answer(&mut bench, requests[1].0, false, ports.clone());
    // What was answered with something else is not awaited any more.
    answer(&mut bench, requests[1].0, false, StatsReplyBody::Flow(vec![flow(1, 1)]));
    assert!(bench.world(READS).part::<Statistics>().iter().next().is_none());
    answer(&mut bench, requests[0].0, false, ports);
    assert_eq!(bench.world(READS).part::<Statistics>().iter().count(), 1);
}

#[test]
fn what_is_kept_of_a_switch_is_on_its_account_and_no_more_than_that_has_room_for() {
    const ROOM: usize = 100_000;
    let config = MonitorConfig { flows_max: 4096, ..every(1) };
    let add = move |apps: aldis_control::AppSet| {
        apps.switch_bytes(ROOM).with(move || Monitor::new(config))
    };
    let mut bench = TestSwitch::new(Version::V13, add);
    let requests = request(&mut bench);
    let ports: Vec<_> = (1..=2000).map(|number| port(number, 1, 1)).collect();
    for part in ports.chunks(100) {
        answer(&mut bench, requests[0].0, true, StatsReplyBody::PortStats(part.to_vec()));
    }
    let used = bench.account().used();
    assert!(used > ROOM * 9 / 10 && used <= ROOM, "{used} of {ROOM} bytes while it is gathered");
    assert!(bench.account().refused() > 0);
    answer(&mut bench, requests[0].0, false, StatsReplyBody::PortStats(vec![]));
    let world = bench.world(READS);
    let seen = &world.part::<Statistics>().of(DatapathId(1)).unwrap().ports;
    assert_eq!(seen.bytes(), used);
    let (rows, left_out) = (seen.rows.len() as u64, seen.left_out);
    assert!(rows > 100 && rows < 1000 && rows + left_out == 2000, "{rows} and {left_out}");
    assert_eq!(bench.account().used(), used, "it is published");
    // There is no room for flows, until the ports are gone.
    let flows: Vec<_> = (1..=50).map(|number| flow(number, 1)).collect();
    answer(&mut bench, requests[1].0, false, StatsReplyBody::Flow(flows));
    bench.happens(Event::Down);
    assert!(bench.world(READS).part::<Statistics>().of(DatapathId(1)).is_none());
    assert_eq!(bench.account().used(), 0);
}

#[test]
fn flows_that_are_not_kept_do_not_stay_on_the_account() {
    let mut bench = bench(Version::V13, MonitorConfig { flows_max: 3, ..every(1) });
    let requests = request(&mut bench);
    let flows: Vec<_> = (1..=50).map(|number| flow(number, 1000)).collect();
    answer(&mut bench, requests[1].0, true, StatsReplyBody::Flow(flows));
    let used = bench.account().used();
    assert!((300..3000).contains(&used), "{used} bytes for three flows");
}
