//! What a request costs a sandboxed learning switch: nanoseconds for each, with 16 switches of
//! 100,000 hosts or as many as are named, in batches of 64 and 16, beside the two native ones.
//!
//! ```text
//! cd sdk/rust && cargo build --release --target wasm32-wasip2 -p learning-switch
//! taskset -c 1 cargo bench -p aldis-sandbox --bench learning_switch -- MANIFEST COMPONENT [HOSTS]
//! ```
//!
//! A batch is of one switch; the next batch is the next switch's. Frames are of 64 bytes, between
//! hosts drawn at random behind different ports, and not buffered at the switch. Only the
//! application is timed. The least of some rounds and their median are printed.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aldis_apps::LearningSwitch;
use aldis_apps::learning_switch::{LearningConfig, Seed};
use aldis_control::app::{Exclusive, Next, State};
use aldis_control::switch::SwitchInfo;
use aldis_control::world::View;
use aldis_control::{
    App, AppSet, Batch, Cookie, EventKind, Output, Pipeline, Request, RequestHeader, Run, Switch,
    Time,
};
use aldis_sandbox::{AppSettings, Application, Compiled, Package, Runtime, Trust, pack};
use aldis_wire::msg::{Action, FlowMod, Match, PortNo};
use aldis_wire::{DatapathId, MacAddr, NO_BUFFER, Version};

const SWITCHES: usize = 16;
const FRAME: usize = 64;
const PORTS: u64 = 48;
const ROUNDS: usize = 301;
const ROUND: usize = 4_000;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    println!("{:>24}  {:>5}  {:>8}  {:>8}", "application", "batch", "min ns", "median");
    let hosts = args.get(2).map_or(100_000, |hosts| hosts.parse().expect("a number of hosts"));
    let config = LearningConfig::new(Seed::new(*b"0123456789abcdef"));
    measure("native, tuned", AppSet::default().with(move || LearningSwitch::new(config)), hosts);
    measure("native, example", AppSet::default().with(|| Example), hosts);
    let [manifest, component, ..] = &args[..] else { return };
    let app = installed(manifest.as_ref(), component.as_ref());
    let set = app.clone();
    measure(app.name(), AppSet::default().with(move || set.sandboxed()), hosts);
    println!("{:#?}", app.status());
}

/// Packs, compiles, loads again, and starts.
fn installed(manifest: &Path, component: &Path) -> Application {
    let read = |path: &Path| std::fs::read(path).expect("the file that was named");
    let packed = pack(&read(manifest), &read(component), &[], None).expect("a package");
    let package = Arc::new(Package::read(&packed, &Trust::Anyone).expect("as it was packed"));
    let runtime = Runtime::from_now().expect("a runtime");
    let folder = std::env::temp_dir().join(format!("aldis-bench-{}", std::process::id()));
    for _ in 0..3 {
        let begun = Instant::now();
        let compiled = Compiled::load(&runtime, Arc::clone(&package), Some(&folder));
        let source = compiled.expect("it compiles").source();
        println!("loaded by {source:?} in {:?}", begun.elapsed());
    }
    let compiled = Compiled::load(&runtime, package, Some(&folder)).expect("it compiles");
    let app = Application::install(&runtime, compiled, AppSettings::default()).expect("granted");
    let begun = Instant::now();
    app.start().expect("it starts");
    println!("started in {:?}", begun.elapsed());
    let _ = std::fs::remove_dir_all(folder);
    app
}

fn measure(name: &str, app_set: AppSet, hosts: u64) {
    for batch in [64, 16] {
        let mut bench = Bench::new(&app_set, batch, hosts);
        let mut rounds: Vec<f64> = (0..ROUNDS).map(|_| bench.round()).collect();
        rounds.sort_by(f64::total_cmp);
        println!("{name:>24}  {batch:>5}  {:>8.1}  {:>8.1}", rounds[0], rounds[ROUNDS / 2]);
    }
}

/// The learning switch of `examples/learning_switch.rs`.
struct Example;

impl App for Example {
    type Slot = Exclusive<HashMap<MacAddr, PortNo>>;

    const NAME: &'static str = "example";

    fn init_switch(&mut self, _: Time, _: &SwitchInfo) -> HashMap<MacAddr, PortNo> {
        HashMap::new()
    }

    fn packet_in(
        &mut self,
        request: &Request<'_>,
        mut hosts: State<'_, Self>,
        out: &mut Output,
    ) -> Next {
        let (Some(src), Some(dst)) = (request.src(), request.dst()) else { return Next::Continue };
        let in_port = request.in_port();
        hosts.insert(src, in_port);
        let to = hosts.get(&dst).copied();
        if let Some(to) = to.filter(|to| *to != in_port) {
            let flow = Match::new().in_port(in_port).eth_dst(dst).eth_src(src);
            let flow = FlowMod::add(flow).idle_timeout(10).actions([Action::output(to)]);
            out.answer(request, flow.cookie(Cookie::of(Self::NAME).0));
        }
        if let Some(packet) = request.packet() {
            let to = Some(to.unwrap_or(PortNo::FLOOD)).filter(|to| *to != in_port);
            out.answer(request, packet.actions(to.map(Action::output)));
        }
        Next::Stop
    }
}

struct Bench {
    pipeline: Pipeline,
    switches: Vec<Arc<Switch>>,
    bytes: Vec<u8>,
    requests: Vec<RequestHeader>,
    out: Output,
    random: u64,
    batch: usize,
    hosts: u64,
}

impl Bench {
    fn new(app_set: &AppSet, batch: usize, hosts: u64) -> Bench {
        let mut pipeline = app_set.build().expect("it works alone").pipeline(0);
        let join = |dpid| pipeline.join(Time::START, info(dpid as u64));
        let mut bench = Bench {
            switches: (1..=SWITCHES).map(join).collect(),
            pipeline,
            bytes: vec![0; batch * FRAME],
            requests: Vec::new(),
            out: Output::default(),
            random: 0x9e37_79b9_7f4a_7c15,
            batch,
            hosts,
        };
        for switch in 0..SWITCHES {
            for first in (0..hosts).step_by(batch) {
                bench.fill(|at, _| (first + at as u64, 0));
                bench.run(switch);
            }
        }
        bench
    }

    /// Nanoseconds a request.
    fn round(&mut self) -> f64 {
        let hosts = self.hosts;
        let (mut spent, batches) = (Duration::ZERO, ROUND / self.batch);
        for batch in 0..batches {
            self.fill(|_, random| two(random, hosts));
            spent += self.run(batch % SWITCHES);
        }
        spent.as_nanos() as f64 / (batches * self.batch) as f64
    }

    fn fill(&mut self, hosts: impl Fn(usize, &mut u64) -> (u64, u64)) {
        self.requests.clear();
        for (at, frame) in self.bytes.chunks_exact_mut(FRAME).enumerate() {
            let (src, dst) = hosts(at, &mut self.random);
            frame[0..6].copy_from_slice(&mac(dst));
            frame[6..12].copy_from_slice(&mac(src));
            frame[12..14].copy_from_slice(&[0x08, 0x00]);
            self.requests.push(RequestHeader {
                frame_at: (at * FRAME) as u32,
                head_len: 0,
                frame_len: FRAME as u16,
                total_len: FRAME as u16,
                reason: 0,
                stopped: false,
                in_port: (src % PORTS) as u32 + 1,
                buffer_id: NO_BUFFER,
                xid: at as u32,
            });
        }
    }

    fn run(&mut self, switch: usize) -> Duration {
        let mut batch = Batch {
            kind: EventKind::FlowRequest,
            now: Time(1),
            world: View::nothing(),
            bytes: &self.bytes,
            switches: &[&self.switches[switch]],
            runs: &[Run { switch: 0, requests: 0..self.requests.len() }],
            requests: &mut self.requests,
        };
        self.out.clear();
        let begun = Instant::now();
        self.pipeline.packet_ins(&mut batch, &mut self.out);
        self.out.take_segments().for_each(|_| ());
        let spent = begun.elapsed();
        let failures: Vec<String> = self.out.commands().take_failures().collect();
        let warnings: Vec<String> = self.out.commands().take_warnings().collect();
        let said = (failures.is_empty(), warnings.is_empty(), self.out.is_empty());
        assert_eq!(said, (true, true, false), "no answers: {failures:?} {warnings:?}");
        spent
    }
}

fn info(dpid: u64) -> SwitchInfo {
    SwitchInfo {
        dpid: DatapathId(dpid),
        version: Version::V13,
        buffers: 0,
        tables: 254,
        ports: Vec::new(),
    }
}

/// Two hosts behind different ports.
fn two(random: &mut u64, hosts: u64) -> (u64, u64) {
    let mut draw = || {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        *random % hosts
    };
    loop {
        let (src, dst) = (draw(), draw());
        if src % PORTS != dst % PORTS {
            return (src, dst);
        }
    }
}

fn mac(host: u64) -> [u8; 6] {
    let [_, _, a, b, c, d, e, f] = (0x0200_0000_0000 | host).to_be_bytes();
    [a, b, c, d, e, f]
}
