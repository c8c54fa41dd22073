//! The plans that the program brings along, and plans that are refused.

use aldis_lab::figure::Paper;
use aldis_lab::plan::{Plan, PlanMetric, catalogue};
use aldis_lab::report::PapersReport;
use aldis_lab::results::{RunForm, ValueOrigin};
use aldis_lab::run::estimate;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn experiments() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments")
}

fn plans() -> Vec<Plan> {
    catalogue::names().map(|name| catalogue::plan(name).unwrap().unwrap()).collect()
}

/// The plan that a discussion is of: of `figure-7.md` as of `figure-7.16-cores.md`, which is about
/// a machine with so many cores.
fn plan_of(discussion: &Path) -> PathBuf {
    let mut stem = discussion.with_extension("");
    if stem.to_string_lossy().ends_with("-cores") {
        stem.set_extension("");
    }
    stem.with_added_extension("toml")
}

#[test]
fn every_file_is_in_the_program_under_its_name() {
    let mut files = Vec::new();
    for folder in std::fs::read_dir(experiments()).unwrap().flatten() {
        let Ok(inside) = std::fs::read_dir(folder.path()) else { continue };
        for file in inside.flatten().map(|file| file.path()) {
            if file.extension().is_some_and(|is| is == "md") {
                assert!(plan_of(&file).is_file(), "{file:?} discusses no plan");
                continue;
            }
            let plan = Plan::read(&file).unwrap();
            assert_eq!(catalogue::plan(&plan.name).unwrap().unwrap().text, plan.text);
            files.push(plan.name);
        }
    }
    assert_eq!(files.len(), catalogue::names().count());
}

#[test]
fn every_plan_expands_everywhere_and_keeps_within_its_budget_on_two_cores() {
    let mut wrong = Vec::new();
    for plan in plans() {
        for form in RunForm::ALL {
            for cores in [1, 2, 8, 64] {
                let points = plan.expand(form, cores).unwrap().points;
                assert!(!points.is_empty(), "{} {form:?} on {cores} cores", plan.name);
                for point in &points {
                    let shares = plan.said.runs[point.run].get_ref().share_cores;
                    let fits = point.workers < cores + usize::from(shares) || point.workers == 1;
                    assert!(fits || point.origin == ValueOrigin::Simulated, "{}", point.label());
                }
            }
            let budget = Duration::from_secs(plan.form(form).seconds.into());
            let needed = estimate(&plan, form, 2).unwrap();
            // Neither more than it has, nor a budget that says nothing.
            if needed > budget || needed * 3 < budget {
                wrong.push(format!("{} {form:?}: {needed:?} of {budget:?}", plan.name));
            }
        }
        assert!(!plan.said.plots.is_empty(), "{} draws nothing", plan.name);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn all_of_them_take_less_than_half_an_hour_on_two_cores() {
    // Each may take half a minute more before it is cut off.
    let all: u32 = plans().iter().map(|plan| plan.said.quick.seconds + 30).sum();
    assert!(all < 30 * 60, "{all} s");
}

#[test]
fn the_full_forms_of_all_take_less_than_ninety_minutes_on_two_cores() {
    let all: u32 = plans().iter().map(|plan| plan.said.full.seconds).sum();
    assert!(all <= 90 * 60, "{all} s");
}

#[test]
fn a_long_form_has_the_full_ones_points_for_longer() {
    for plan in plans() {
        let points = |form| plan.expand(form, 2).unwrap().points;
        assert_eq!(points(RunForm::Long), points(RunForm::Full), "{}", plan.name);
        let [full, long] = [RunForm::Full, RunForm::Long].map(|form| plan.form(form));
        assert!(long.measure_ms > full.measure_ms || long.repeats > full.repeats, "{}", plan.name);
    }
}

#[test]
fn a_plan_without_a_long_form_has_the_full_one_for_it() {
    let plan = Plan::parse("a", "a.toml", GOOD.into()).unwrap();
    assert_eq!(plan.form(RunForm::Long), plan.form(RunForm::Full));
    let long = "[long]\nseconds = 900\nmeasure-ms = 10_000\n\n[[run]]";
    let plan = Plan::parse("a", "a.toml", GOOD.replacen("[[run]]", long, 1)).unwrap();
    assert_eq!(plan.form(RunForm::Long).measure_ms, 10_000);
}

#[test]
fn names_of_series_are_distinct_and_fit_a_legend() {
    for plan in plans() {
        let points = plan.expand(RunForm::Full, 8).unwrap().points;
        for (index, point) in points.iter().enumerate() {
            assert!(point.series.len() < 100, "{}: {}", plan.name, point.series);
            let metrics: &Vec<PlanMetric> = &plan.said.runs[point.run].get_ref().metrics;
            let same = points[..index].iter().find(|other| {
                let others = &plan.said.runs[other.run].get_ref().metrics;
                (&other.series, &other.x, other.origin) == (&point.series, &point.x, point.origin)
                    && (point.x.is_some() || point.rates == other.rates)
                    && metrics.iter().any(|metric| others.contains(metric))
            });
            assert!(same.is_none(), "{}: twice {}", plan.name, point.label());
        }
    }
}

#[test]
fn what_is_drawn_of_a_paper_is_named_like_what_is_run() {
    for plan in plans() {
        // Enough cores for all of it.
        let points = plan.expand(RunForm::Full, 64).unwrap().points;
        for paper in &plan.said.papers {
            let drawn = plan.said.plots.iter().flat_map(|plot| plot.metrics());
            let drawn: Vec<&str> = drawn.map(|axis| axis.metric.as_str()).collect();
            assert!(drawn.contains(&paper.metric.as_str()), "{}: {}", plan.name, paper.metric);
            let is_run = points.iter().any(|point| {
                let mut metrics = plan.said.runs[point.run].get_ref().metrics.iter();
                // Where rates follow each other, each has a distribution of its own.
                let of_rate = |rate| format!("{}, {rate}", point.series) == paper.series;
                (point.series == paper.series
                    || point.rates.len() > 1 && point.rates.iter().any(of_rate))
                    && metrics.any(|metric| metric.name() == paper.metric)
            });
            let Paper { series, metric, .. } = paper;
            assert!(is_run, "{}: nothing measures {metric} of {series}", plan.name);
        }
        for series in plan.said.plots.iter().flat_map(|plot| &plot.series) {
            let known = points.iter().any(|point| series.starts_with(&point.series));
            assert!(known, "{} draws {series}, which is not run", plan.name);
        }
    }
}

const GOOD: &str = r#"
title = "A plan"
source = "nowhere"
expected = "Nothing in particular."

[quick]
seconds = 30
measure-ms = 100

[full]
seconds = 60
measure-ms = 1000

[[run]]
subjects = ["fair-rounds", "null"]
x = "workers"
workers = [1, 2]
metrics = ["throughput"]

[[plot]]
kind = "lines"
title = "Throughput"
y = { metric = "throughput" }
"#;

fn refusal(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    let text = GOOD.replacen(from, to, 1);
    match Plan::parse("a", "a.toml", text) {
        Ok(_) => panic!("{to} has to be refused"),
        Err(refused) => refused.to_string(),
    }
}

#[test]
fn a_plan_that_makes_no_sense_is_refused_with_its_line() {
    Plan::parse("a", "a.toml", GOOD.into()).unwrap();
    let metrics = "metrics = [\"throughput\"]";
    for (from, to, place, why) in [
        ("title =", "tilte =", "a.toml:2: tilte", "unknown field `tilte`"),
        ("seconds = 30", "seconds = 61", "a.toml:6: ", "seconds = 61; accepted are 1 to 60"),
        (
            "[[run]]",
            "[long]\nseconds = 9\nmeasure-ms = 1\n[[run]]",
            "a.toml:14: ",
            "[long]: measure-ms",
        ),
        ("seconds = 30", "seconds = -1", "a.toml:7: seconds", "invalid value"),
        ("seconds = 30", "seconds = 9\nrepeats = 0", "a.toml:6: ", "repeats = 0; accepted"),
        ("measure-ms = 100\n", "", "a.toml:6", "missing field `measure-ms`"),
        ("fair-rounds", "fair-round", "a.toml:14: ", "there is no design \"fair-round\""),
        ("workers = [1, 2]", "workers = []", "a.toml:14: ", "workers is empty"),
        ("workers = [1, 2]", "workers = [0]", "a.toml:14: ", "0 workers; accepted are 1 to 64"),
        ("workers = [1, 2]", "worker = 1", "a.toml:17: worker", "unknown field `worker`"),
        ("workers = [1, 2]", "macs = [0]", "a.toml:14: ", "0 addresses a switch"),
        ("workers = [1, 2]", "switches = [10001]", "a.toml:14: ", "10001 switches"),
        ("workers = [1, 2]", "rates = [\"half\"]", "a.toml:17: rates", "\"half\" is no rate"),
        ("workers = [1, 2]", "spread = [\"flat\"]", "a.toml:17: spread", "is no spread"),
        ("workers = [1, 2]", "ibt = [0]", "a.toml:14: ", "1 request"),
        ("workers = [1, 2]", "ibt = [50]\nbdu-us = [9]", "a.toml:14: ", "one of them"),
        ("workers = [1, 2]", "prt = [400]", "a.toml:14: ", "design fair-rounds: a pending"),
        ("workers = [1, 2]", "outstanding = 0", "a.toml:14: ", "outstanding: accepted"),
        ("workers = [1, 2]", "case = \"79-U\"", "a.toml:14: ", "`case` needs x = \"case\""),
        ("workers = [1, 2]", "knobs.speed = 2", "a.toml:17: knobs.speed", "unknown field `speed`"),
        ("workers = [1, 2]", "steps = [\"full\"]", "a.toml:14: ", "a step has a rate"),
        ("workers = [1, 2]", "steps = [9]\nrates = [9]", "a.toml:14: ", "choose one"),
        ("x = \"workers\"", "x = \"ibt\"", "a.toml:14: ", "`ibt` stands on the x axis"),
        ("x = \"workers\"", "x = \"rate\"", "a.toml:14: ", "take x = \"load\""),
        ("x = \"workers\"", "x = \"time\"", "a.toml:16: x", "unknown variant `time`"),
        (metrics, "metrics = [\"speed\"]", "a.toml:18: metrics", "unknown variant `speed`"),
        (metrics, "metrics = [\"latency-mean\"]", "a.toml:14: ", "needs `latency = true`"),
        (metrics, "metrics = [\"probing-delay-p50\"]", "a.toml:14: ", "give `probes`"),
        (metrics, "metrics = [\"ibt-over-time\"]", "a.toml:14: ", "needs `steps`"),
        (metrics, "metrics = [\"deviation\"]", "a.toml:23: ", "measures the metric `throughput`"),
        ("kind = \"lines\"", "kind = \"pie\"", "a.toml:21: kind", "unknown variant `pie`"),
    ] {
        let refused = refusal(from, to);
        assert!(refused.starts_with(place) && refused.contains(why), "{to}: {refused}");
        assert_eq!(refused.lines().count(), 1, "{refused}");
    }
    for (controller, why) in [
        ("name = \"x\"\ncommand = []\ninstall = \"\"", "has no command"),
        ("name = \"x\"\ncommand = [\"x\"]\ninstall = \"\"", "does not say {port}"),
        ("name = \"x\"\ncommand = [\"{port}\"]\ninstall = \"\"\nready-within-s = 0", "1 to 120"),
        (
            "name = \"x\"\ncommand = [\"{port}\"]\ninstall = \"\"\nfiles = { \"../a\" = \"\" }",
            "no plain file name",
        ),
    ] {
        let refused = refusal("[[run]]", &format!("[[controller]]\n{controller}\n[[run]]"));
        assert!(refused.starts_with("a.toml:1") && refused.contains(why), "{refused}");
    }
}

#[test]
fn a_file_that_is_no_plan_is_named() {
    let refused = |path: &str| Plan::read(Path::new(path)).unwrap_err().to_string();
    assert!(refused("nowhere.toml").starts_with("cannot read nowhere.toml: No such file"));
    let folder = std::env::temp_dir().join(format!("aldis-plans-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let large = folder.join("large.toml");
    std::fs::write(&large, vec![b'#'; 300_000]).unwrap();
    assert!(refused(large.to_str().unwrap()).contains("is larger than"));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn threads_that_only_read_are_counted_and_told() {
    let text = GOOD.replace("\"fair-rounds\"", "\"maestro-shared-queue\"");
    let plan = Plan::parse("a", "a.toml", text).unwrap();
    let notes = |cores| plan.expand(RunForm::Quick, cores).unwrap().notes.join(" ");
    let shared = "maestro-shared-queue: measured, its 1 worker and 1 reading thread share 1 core";
    let needs = "2 workers, 1 reading thread and the load need 4 cores, and this machine has 2";
    assert!(notes(2).contains(shared) && notes(2).contains(needs), "{}", notes(2));
    assert!(!notes(3).contains("1 core;") && notes(3).contains("share 2 cores"), "{}", notes(3));
    assert_eq!(notes(4), "");
}

#[test]
fn workers_on_the_axis_are_all_simulated_where_one_has_to_be() {
    let plan = Plan::parse("a", "a.toml", GOOD.into()).unwrap();
    let seen = |cores| {
        let expansion = plan.expand(RunForm::Quick, cores).unwrap();
        let points = expansion.points.iter();
        let points: Vec<_> = points
            .map(|point| (point.series.clone(), point.workers, point.origin.name()))
            .collect();
        (points, expansion.notes.join(" "))
    };
    let (fair, null) = (|| "fair-rounds".to_owned(), || "null".to_owned());
    let (points, notes) = seen(2);
    assert_eq!(
        points,
        [
            (fair(), 1, "measured"),
            (fair(), 1, "simulated"),
            (null(), 1, "measured"),
            (fair(), 2, "simulated"),
        ]
    );
    assert!(notes.contains("More cores than this machine has: simulated."), "{notes}");
    assert!(notes.contains("null: 2 workers and the load need 3 cores"), "{notes}");
    let (points, notes) = seen(3);
    assert!(points.iter().all(|(_, _, origin)| *origin == "measured"), "{points:?}");
    assert_eq!((points.len(), notes.as_str()), (4, ""));
}

#[test]
fn a_capacity_is_that_of_the_one_threshold_but_of_none_that_is_swept() {
    let with = |list: &str| {
        let lines = format!("ibt = {list}\nrates = [\"0.5x\"]\nmetrics");
        let text = GOOD.replace(", \"null\"", "").replacen("metrics", &lines, 1);
        let points = Plan::parse("a", "a.toml", text).unwrap().expand(RunForm::Full, 64).unwrap();
        points.points.first().unwrap().at_full().settings
    };
    assert_eq!(with("[512]"), ["batching=fixed", "ibt=512"]);
    assert_eq!(with("[64, 512]"), [""; 0]);
}

#[test]
fn no_discussion_holds_a_measured_number_or_is_long() {
    let mut wrong = Vec::new();
    for folder in std::fs::read_dir(experiments()).unwrap().flatten() {
        let Ok(inside) = std::fs::read_dir(folder.path()) else { continue };
        let files = inside.flatten().map(|file| file.path());
        for path in files.filter(|path| path.extension().is_some_and(|is| is == "md")) {
            let checked =
                aldis_lab::report::check_discussion(&std::fs::read_to_string(&path).unwrap());
            wrong.extend(checked.err().map(|why| format!("{}, {why}", path.display())));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_pages_are_what_their_points_and_discussions_make_of_them() {
    let results = experiments().join("../docs/results");
    let report = PapersReport::read(&results.join("data"), Some(&experiments())).unwrap();
    assert_eq!(report.refused, [""; 0]);
    let pages = aldis_testkit::Folder::new("pages");
    report.write_markdown(&pages).unwrap();
    let mut stale = Vec::new();
    for folder in ["", "maestro", "maestro-scalable", "beacon", "ours"] {
        for page in std::fs::read_dir(pages.join(folder)).unwrap().flatten() {
            let name = Path::new(folder).join(page.file_name());
            if page.path().is_file()
                && std::fs::read(page.path()).ok() != std::fs::read(results.join(&name)).ok()
            {
                stale.push(name);
            }
        }
    }
    let again =
        "aldis lab report docs/results/data --out results/report.html --markdown docs/results";
    assert!(stale.is_empty(), "{stale:?} are older than their points: run `{again}`");
}

/// A row of the README that links a page says what that page's points on 16 cores say.
#[test]
fn the_readme_has_the_numbers_of_the_pages() {
    let root = experiments().join("..");
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let designs = ["fair-rounds", "maestro-static-partition", "maestro-round-robin"];
    let rows = [
        ("maestro/figure-12", "DESIGN,7,throughput,", 1e-6),
        ("maestro/figure-14", "DESIGN,7,probing-delay-mean,", 1.0),
        ("maestro/figure-7", "\"DESIGN, 4 workers\",2.35x,deviation-worst,", 1.0),
    ];
    for (page, name, scale) in rows {
        let link = format!("(docs/results/{page}.md)");
        let row = readme.lines().find(|line| line.starts_with('|') && line.contains(&link));
        let row = row.unwrap_or_else(|| panic!("the README has no row of {page}"));
        let points = root.join(format!("docs/results/data/16-cores/{page}/points.csv"));
        let points = std::fs::read_to_string(points).unwrap();
        for (design, cell) in designs.iter().zip(row.split('|').skip(2)) {
            let start = name.replace("DESIGN", design);
            let value = points.lines().find_map(|line| line.strip_prefix(&start)).unwrap();
            let value = value.split(',').next().unwrap().parse::<f64>().unwrap() * scale;
            let said = cell.trim().trim_start_matches('*').split(' ').next().unwrap();
            let decimals = said.split_once('.').map_or(0, |(_, decimals)| decimals.len());
            assert_eq!(said, format!("{value:.decimals$}"), "README, {page}, {design}");
        }
    }
}
