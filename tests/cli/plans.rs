//! `aldis lab run` and `aldis lab list` as a person runs them, over loopback.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use aldis_lab::results::{Results, RunForm, ValueMark, ValueOrigin, X};
use aldis_testkit::Folder;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

/// Longer than anything here takes on a machine that is busy with other things.
const WITHIN: Duration = Duration::from_secs(60);

fn lab(folder: &Folder, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aldis"));
    command.arg("lab").args(args).current_dir(folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn head(measure_ms: u32) -> String {
    format!(
        r#"
title = "A small plan"
source = "nowhere"
expected = "That it runs."

[quick]
seconds = 30
warm-up-ms = 0
measure-ms = {measure_ms}
simulated-requests = 20_000

[full]
seconds = 30
measure-ms = 100
"#
    )
}

fn run(subjects: &str, more: &str) -> String {
    format!(
        "\n[[run]]\nsubjects = [{subjects}]\nswitches = [2]\nmacs = [10]\nno-teach = true\n{more}\n"
    )
}

const COSTS: &str = r#"
aldis = "0.1.0"
date = "2026-11-21"

[machine]
cpu = "A processor"
cores = 2
kernel = "Linux"

[costs]
poll_ns = 146.5
poll_event_ns = 400.8
read_ns = 681.5
read_byte_ps = 83.5
empty_read_ns = 276.9
write_ns = 3052.6
write_byte_ps = 78.6
full_read_ns = 700.0
full_read_byte_ps = 110.0
full_write_ns = 4400.0
full_write_byte_ps = 80.0
joined_ns = 200.0
wake_ns = 41435.0
ring_ns = 12627.0
batch_ns = 196.5
gather_ns = 4.0
request_ns = 19.4
line_transfer_ns = 77.3
cas_ns = 10.7
contended_cas_ns = 69.4
round_trip_ns = 8201.0
waver_pct = 12.0
away_pct = 2.0
away_ns = 9000.0
"#;

#[test]
fn a_small_plan_is_measured_simulated_and_written() {
    let folder = Folder::new("plans-small");
    let metrics = "\"throughput\", \"deviation\", \"probing-delay-mean\"";
    let plan = [
        head(200),
        run("\"fair-rounds\", \"null\"", &format!("x = \"workers\"\nworkers = [1, 60]\nprobes = 1\nprobe-rate = 50\nmetrics = [{metrics}]")),
        run("\"maestro-round-robin\"", "x = \"load\"\nrates = [5000]\nmetrics = [\"batch-ibt\", \"zero-pending\"]"),
        run("\"maestro-round-robin\"", "x = \"load\"\nsteps = [5000, \"0.1x\"]\nseries = \"steps\"\nmetrics = [\"ibt-over-time\", \"offered-over-time\"]").replace("x = \"load\"", "x = \"subject\""),
        run("\"fair-rounds\"", "x = \"subject\"\nlatency = true\nmetrics = [\"latency-mean\"]"),
    ]
    .concat();
    let plan = folder.write("small.toml", &plan);
    let costs = folder.write("costs.toml", COSTS);
    let output = lab(&folder, &["run", &plan, "--quick", "--out", "here", "--costs", &costs])
        .output()
        .unwrap();
    let said = text(&output.stderr);
    assert!(output.status.success() && output.stdout.is_empty(), "{said}");
    assert!(said.contains("small: ") && said.contains(" points, about "), "{said}");
    let Results { meta, points, plan, cut } = Results::read(&folder.join("here/small")).unwrap();
    assert!(!meta.partial && !cut && plan.is_some(), "{meta:?}");
    assert_eq!((meta.form, meta.seed, meta.plan.as_str()), (RunForm::Quick, 1, "small"));
    assert!(meta.command.starts_with("aldis lab run "), "{}", meta.command);
    let values = |series: &str, metric: &str, origin| -> Vec<f64> {
        let of = |point: &&aldis_lab::results::Point| {
            point.series == series && point.metric == metric && point.origin == origin
        };
        points.iter().filter(of).map(|point| point.value).collect()
    };
    // How much was answered in a fifth of a second is the machine's affair.
    for series in ["fair-rounds", "null"] {
        assert_eq!(values(series, "throughput", ValueOrigin::Measured).len(), 1);
        assert!(values(series, "deviation", ValueOrigin::Measured).len() <= 2);
    }
    let simulated = values("fair-rounds", "throughput", ValueOrigin::Simulated);
    assert_eq!(values("fair-rounds", "deviation", ValueOrigin::Simulated).len(), 4);
    assert!(simulated.len() == 2 && simulated[1] > simulated[0], "{simulated:?}");
    assert!(
        meta.notes.iter().any(|note| note.contains("more cores") || note.contains("More cores"))
    );
    assert_eq!(values("maestro-round-robin", "zero-pending", ValueOrigin::Measured).len(), 1);
    assert_eq!(values("steps", "offered-over-time", ValueOrigin::Measured)[..2], [5000.0, 5000.0]);
    assert!(!values("steps", "ibt-over-time", ValueOrigin::Measured).is_empty());
    let latency = values("fair-rounds", "latency-mean", ValueOrigin::Measured);
    assert!(latency.iter().all(|us| *us > 0.1), "{latency:?}");
    let word = |point: &aldis_lab::results::Point| point.x == X::Word("5k".into());
    assert!(points.iter().any(word));
    let honest = |point: &aldis_lab::results::Point| {
        point.origin == ValueOrigin::Measured || point.mark == ValueMark::None
    };
    assert!(points.iter().all(honest));
}

/// A plan of two values, with a paper's beside one of them in a table.
fn with_a_table(folder: &Folder) -> String {
    let plots = r#"
[[plot]]
kind = "table"
title = "What was served"
x = { label = "Offered" }
y = { metric = "throughput", label = "Throughput", unit = "krps" }

[[paper]]
series = "null"
metric = "throughput"
unit = "rps"
values = { "5k" = 4_000 }
from = "table 9"
"#;
    let more = "x = \"load\"\nrates = [5000]\nmetrics = [\"throughput\"]";
    let subjects = "\"null\", \"fair-rounds\"";
    folder.write("table.toml", [&head(100), &*run(subjects, more), plots].concat())
}

#[test]
fn a_table_is_printed_with_the_papers_values_and_the_way_to_the_rest() {
    let folder = Folder::new("plans-table");
    let plan = with_a_table(&folder);
    let output = lab(&folder, &["run", &plan, "--out", "over here"]).output().unwrap();
    let (printed, said) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{said}");
    assert!(printed.contains("\nnowhere: A small plan\n\nThroughput (krps)\n"), "{printed}");
    let words = |begin: &str| -> Vec<&str> {
        let line = printed.lines().find(|line| line.starts_with(begin));
        line.unwrap_or_else(|| panic!("{begin}: {printed}")).split_whitespace().collect()
    };
    assert_eq!(words("Offered"), ["Offered", "5k"]);
    for series in ["the null controller", "Aldis's fair rounds"] {
        let krps = words(series).last().unwrap().trim_end_matches('†').parse::<f64>();
        assert!(krps.is_ok_and(|krps| krps > 1.0), "{printed}");
    }
    assert_eq!(words("  the paper"), ["the", "paper", "4.00"]);
    assert_eq!(words("the paper:"), ["the", "paper:", "table", "9"]);
    let lines = printed.lines().skip(5).take(3);
    let ends: Vec<usize> = lines.map(|line| line.trim_end_matches('†').chars().count()).collect();
    assert!(ends.iter().all(|end| *end == ends[0]), "columns in line: {printed}");
    assert!(said.contains("lab report 'over here'\" writes over here/report.html"), "{said}");
}

#[test]
fn a_report_is_a_page_and_markdown() {
    let folder = Folder::new("plans-report");
    let refused = lab(&folder, &["report", "."]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("no results in ."), "{refused:?}");
    let plan = with_a_table(&folder);
    assert!(lab(&folder, &["run", &plan]).output().unwrap().status.success());
    let output = lab(&folder, &["report"]).output().unwrap();
    assert_eq!(text(&output.stdout), "Written to results/report.html: 1 experiment.\n");
    let page = fs::read_to_string(folder.join("results/report.html")).unwrap();
    for words in ["<h2>A small plan", "<td>4.00</td>", "the null controller, paper (table 9)"] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let args = ["report", "results", "--out", "mine/page.html", "--markdown", "docs"];
    let output = lab(&folder, &args).output().unwrap();
    assert_eq!(
        text(&output.stdout),
        "Written to mine/page.html: 1 experiment.\nWritten to docs: 2 files.\n"
    );
    assert_eq!(fs::read_to_string(folder.join("mine/page.html")).unwrap(), page);
    let index = fs::read_to_string(folder.join("docs/README.md")).unwrap();
    assert!(index.contains("| nowhere | [A small plan](table.md) | "), "{index}");
    assert!(index.contains(" | quick | "), "{index}");
    let page = fs::read_to_string(folder.join("docs/table.md")).unwrap();
    assert!(page.contains("| the null controller, paper (table 9) | 4.00 |"), "{page}");
}

/// A controller that is a few lines of Python: what it does once a switch has come is `then`.
fn python(name: &str, then: &str) -> String {
    format!(
        r#"
[[controller]]
name = "{name}"
command = ["python3", "{{folder}}/it.py", "{{port}}"]
install = "apt-get install python3"
ready-within-s = 60

[controller.files]
"it.py" = '''
import socket, sys, time
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    switch, _ = server.accept()
    if not switch.recv(8):
        continue
    {then}
'''
"#
    )
}

#[test]
fn a_controller_that_fails_costs_its_own_points_and_is_told() {
    let folder = Folder::new("plans-fails");
    let hello = "switch.sendall(bytes([1, 0, 0, 8, 0, 0, 0, 1]))";
    let plan = [
        head(100),
        python("dies", &format!("{hello}; print('I am gone', file=sys.stderr); sys.exit(3)")),
        python("garbage", "switch.sendall(bytes(64)); time.sleep(99)"),
        "[[controller]]\nname = \"stillborn\"\ncommand = [\"false\", \"{port}\"]\ninstall = \"none\"\n".into(),
        "[[controller]]\nname = \"absent\"\ncommand = [\"aldis-no-such-program\", \"{port}\"]\ninstall = \"make absent\"\n".into(),
        run("\"dies\", \"garbage\", \"stillborn\", \"absent\", \"null\"", "x = \"subject\"\nmetrics = [\"throughput\"]"),
    ]
    .concat();
    let plan = folder.write("fails.toml", &plan);
    let output = lab(&folder, &["run", &plan]).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    for words in [
        "fails, dies at dies (1 worker, 2 switches, full even): ",
        "; the controller ended with exit status: 3; its last words: I am gone; results/fails/points.csv keeps what came before",
        "fails, garbage at garbage",
        "bytes that are no OpenFlow message",
        "it ended before it listened with exit status: 1",
        "absent is not measured: there is no program aldis-no-such-program; install it with: make absent",
        "in results/fails, partial",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let Results { meta, points, .. } = Results::read(&folder.join("results/fails")).unwrap();
    assert!(meta.partial && meta.why.unwrap().contains("dies at dies"));
    assert!(meta.notes.iter().any(|note| note.starts_with("absent is not measured")));
    let series: Vec<&str> = points.iter().map(|point| point.series.as_str()).collect();
    assert_eq!(series, ["null"]);
}

#[test]
fn a_controller_that_is_silent_or_never_listens_is_given_up_and_told() {
    let folder = Folder::new("plans-quiet");
    let plan = [
        head(100).replace("seconds = 30\nwarm-up", "seconds = 3\nwarm-up"),
        python("silent", "time.sleep(99)"),
        "[[controller]]\nname = \"deaf\"\ncommand = [\"sleep\", \"99\", \"{port}\"]\ninstall = \"none\"\nready-within-s = 1\n".into(),
        run("\"deaf\", \"null\", \"silent\"", "x = \"subject\"\nmetrics = [\"throughput\"]"),
    ]
    .concat();
    let plan = folder.write("quiet.toml", &plan);
    let begun = Instant::now();
    let output = lab(&folder, &["run", &plan, "--overtime", "5"]).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(begun.elapsed() < WITHIN, "{said}");
    for words in [
        "quiet, deaf at deaf (1 worker, 2 switches, full even): nothing accepted a connection at 127.0.0.1:",
        " within 1s; results/quiet/points.csv keeps what came before, and the rest of deaf is left out",
        "quiet, silent at silent (1 worker, 2 switches, full even): it did not get through within ",
        "in results/quiet, partial",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let Results { meta, points, .. } = Results::read(&folder.join("results/quiet")).unwrap();
    let why = meta.why.unwrap();
    assert!(meta.partial && why.contains("deaf at deaf") && why.contains("silent at silent"));
    let series: Vec<&str> = points.iter().map(|point| point.series.as_str()).collect();
    assert_eq!(series, ["null"]);
}

#[test]
fn controllers_of_other_projects_are_measured_where_they_are_installed() {
    let folder = Folder::new("plans-others");
    let names = ["ovs-testcontroller", "os-ken"];
    let subjects = format!("subjects = {names:?}");
    let run = "\n[[run]]\nSUBJECTS\nx = \"subject\"\nswitches = [2]\nmacs = [10]\nmetrics = [\"throughput\"]\n";
    let plan = [head(300), run.replace("SUBJECTS", &subjects)].concat();
    let plan = folder.write("others.toml", &plan);
    let output = lab(&folder, &["run", &plan]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let Results { meta, points, .. } = Results::read(&folder.join("results/others")).unwrap();
    for name in names {
        let rps = points.iter().find(|point| point.series == name).map(|point| point.value);
        let note = meta.notes.iter().find(|note| note.starts_with(&format!("{name} is not meas")));
        match note {
            Some(note) => eprintln!("skipped: {note}"),
            None => assert!(rps.is_some_and(|rps| rps > 10.0), "{name}: {rps:?}"),
        }
    }
}

#[test]
fn a_plan_that_takes_much_longer_than_its_budget_is_cut_off_and_partial() {
    let folder = Folder::new("plans-late");
    let head = head(700).replace("seconds = 30\nwarm-up", "seconds = 1\nwarm-up");
    let more = "x = \"switches\"\nmetrics = [\"throughput\"]";
    let more = run("\"null\"", more).replace("switches = [2]", "switches = [1, 2, 3, 4, 5, 6]");
    let plan = folder.write("late.toml", [head, more].concat());
    let begun = Instant::now();
    let output = lab(&folder, &["run", &plan, "--overtime", "1"]).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(begun.elapsed() < WITHIN, "{said}");
    let Results { meta, points, .. } = Results::read(&folder.join("results/late")).unwrap();
    assert!(meta.partial && points.len() < 6, "{said}");
    let why = meta.why.unwrap();
    assert!(why.contains("late: after its 1 s and 1 s more not everything was run"), "{why}");
}

#[test]
fn a_full_disk_is_named() {
    let folder = Folder::new("plans-full");
    let plan = [head(50), run("\"null\"", "x = \"subject\"\nmetrics = [\"throughput\"]")].concat();
    let plan = folder.write("full.toml", &plan);
    fs::create_dir_all(folder.join("results/full")).unwrap();
    symlink("/dev/full", folder.join("results/full/points.csv")).unwrap();
    let output = lab(&folder, &["run", &plan]).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("full: cannot write results/full/points.csv: No space left"), "{said}");
    let meta = fs::read_to_string(folder.join("results/full/meta.toml")).unwrap();
    assert!(meta.contains("partial = true"), "{meta}");
}

#[test]
fn what_was_written_before_the_disk_was_full_is_kept_and_partial() {
    let folder = Folder::new("plans-filled");
    let more = "x = \"subject\"\nmetrics = [\"throughput\", \"deviation\"]";
    let more = run("\"null\"", more).replace("switches = [2]", "switches = [200]");
    let plan = folder.write("filled.toml", [head(100), more].concat());
    // A file that may not grow fails as a full disk does: the plan and the machine fit, two hundred
    // rows do not.
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; ulimit -f 4; exec \"$0\" lab run \"$1\""]);
    command.args([env!("CARGO_BIN_EXE_aldis"), &plan]).current_dir(&folder);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("filled: cannot write results/filled/points.csv: "), "{said}");
    let Results { meta, points, .. } = Results::read(&folder.join("results/filled")).unwrap();
    assert!(meta.partial && meta.why.is_some());
    assert!((1..200).contains(&points.len()), "{}", points.len());
    assert_eq!(points[0].metric, "throughput");
}

/// Children of a process that are there now.
fn children(pid: u32) -> Vec<Pid> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let of = |task: fs::DirEntry| fs::read_to_string(task.path().join("children")).ok();
    let all: String = tasks.filter_map(of).collect();
    all.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect()
}

/// A plan whose one point takes ten minutes.
fn long(folder: &Folder) -> Command {
    let two = "x = \"subject\"\nmetrics = [\"throughput\"]";
    let plan = head(600_000).replace("seconds = 30", "seconds = 60");
    let plan = folder.write("stopped.toml", [plan, run("\"null\"", two)].concat());
    lab(folder, &["run", &plan])
}

/// The controller of a laboratory once it has connections, which is long after the laboratory began
/// to watch for signals.
fn controller_of(laboratory: &Child) -> Pid {
    let deadline = Instant::now() + WITHIN;
    let is_under_load = |pid: &Pid| {
        let sockets =
            fs::read_dir(format!("/proc/{}/fd", pid.as_raw_nonzero())).into_iter().flatten();
        sockets
            .flatten()
            .filter(|fd| {
                fs::read_link(fd.path())
                    .is_ok_and(|link| link.to_string_lossy().starts_with("socket:"))
            })
            .count()
            >= 3
    };
    loop {
        if let Some(found) = children(laboratory.id()).into_iter().find(is_under_load) {
            return found;
        }
        assert!(Instant::now() < deadline, "no controller came under load");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), signal).unwrap();
}

#[test]
fn who_asks_it_to_end_ends_the_controller_and_keeps_what_there_is() {
    for asks in [Signal::INT, Signal::TERM] {
        let folder = Folder::new("plans-stopped");
        let child = long(&folder).spawn().unwrap();
        let controller = controller_of(&child);
        signal(&child, asks);
        let Output { status, stderr, .. } = child.wait_with_output().unwrap();
        assert_eq!(status.code(), Some(130), "{}", text(&stderr));
        assert!(test_kill_process(controller).is_err(), "the controller lives on");
        let results = Results::read(&folder.join("results/stopped")).unwrap();
        assert!(results.meta.partial && results.meta.why.unwrap().contains("told to stop"));
    }
}

#[test]
fn memory_is_what_a_controller_has_while_it_serves() {
    let folder = Folder::new("plans-memory");
    let of = |macs: &str| {
        format!(
            "\n[[run]]\nsubjects = [\"fair-rounds\"]\nx = \"macs\"\nswitches = [2]\nmacs = [{macs}]\nmetrics = [\"memory-per-switch\"]\n"
        )
    };
    // Switches that leave take their tables with them: several points, as only some of them would
    // be looked at too late.
    let plan = [head(100), of("10, 300_000, 300_001, 300_002")].concat();
    let plan = folder.write("memory.toml", &plan);
    let output = lab(&folder, &["run", &plan]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let Results { points, .. } = Results::read(&folder.join("results/memory")).unwrap();
    let kib: Vec<f64> = points.iter().map(|point| point.value).collect();
    let [few, many @ ..] = kib.as_slice() else { panic!("{kib:?}") };
    // Eight bytes each at least.
    let table = 300_000.0 * 8.0 / 1024.0;
    assert!(many.iter().all(|kib| *kib > few + 0.9 * table), "{kib:?}");
    assert!(many.len() == 3 && many.iter().all(|kib| *kib < 20.0 * table), "{kib:?}");
}

#[test]
fn who_kills_it_kills_the_controller_too() {
    let folder = Folder::new("plans-killed");
    let mut child = long(&folder).spawn().unwrap();
    let controller = controller_of(&child);
    signal(&child, Signal::KILL);
    child.wait().unwrap();
    // Its parent may still have to wait for it: a zombie is dead too.
    let stat = format!("/proc/{}/stat", controller.as_raw_nonzero());
    let lives = || fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
    let deadline = Instant::now() + WITHIN;
    while lives() {
        assert!(Instant::now() < deadline, "the controller lives on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_run() {
    let folder = Folder::new("plans-refused");
    let ended = |args: &[&str], code| {
        let output = lab(&folder, args).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        text(&output.stderr)
    };
    let refused = |args: &[&str]| ended(args, 2);
    let bad = folder.write("bad.toml", "title = 3\n");
    assert!(refused(&["run", &bad]).contains("bad.toml:1: title: "));
    assert!(refused(&["run", "maestro/figure-99"]).contains("there is no plan maestro/figure-99"));
    assert!(refused(&["run", "nowhere.toml"]).contains("cannot read nowhere.toml: No such file"));
    assert!(refused(&["run"]).contains("PLAN"));
    assert!(refused(&["run", "--all", "--quick", "--full"]).contains("cannot be used with"));
    assert!(refused(&["run", "--all", "--full", "--long"]).contains("cannot be used with"));
    let costs = refused(&["run", "maestro/table-1", "--costs", "nowhere.toml"]);
    assert!(costs.contains("cannot read nowhere.toml"), "{costs}");
    fs::write(folder.join("file"), "").unwrap();
    let plan = [head(50), run("\"null\"", "x = \"subject\"\nmetrics = [\"throughput\"]")].concat();
    let plan = folder.write("good.toml", &plan);
    let out = ended(&["run", &plan, "--out", "file"], 1);
    assert!(out.contains("good: cannot write file/good"), "{out}");
    assert!(!folder.join("results").exists());
}

#[test]
fn the_list_names_every_plan_with_its_source() {
    let folder = Folder::new("plans-list");
    let output = lab(&folder, &["list"]).output().unwrap();
    let listed = text(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    for name in aldis_lab::plan::catalogue::names() {
        let line = listed.lines().find(|line| line.split_whitespace().next() == Some(name));
        let line = line.unwrap_or_else(|| panic!("{name} is not listed"));
        let lengths = line.split_whitespace().filter(|word| ["s", "min"].contains(word)).count();
        assert_eq!(lengths, 3, "quick, full and long: {line}");
        let source = aldis_lab::plan::catalogue::plan(name).unwrap().unwrap().said.source;
        assert!(line.ends_with(&format!(" {source}")), "{source}: {line}");
    }
    let all = listed.lines().find(|line| line.starts_with("all ")).expect("how long all take");
    assert!(all.contains(" min"), "{all}");
    assert!(listed.contains("Maestro, table 1"), "{listed}");
}
