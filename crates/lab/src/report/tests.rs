//! Pages of results that exist nowhere else.

use super::*;
use crate::calibrate::MachineInfo;
use crate::results::{Meta, Point, ResultsWriter, RunForm, X};
use aldis_testkit::Folder;

const PLAN_TEXT: &str = r#"
title = "Table 2"
runs = "whatever a runner needs"

[[plot]]
kind = "bars"
title = "Throughput with seven workers"
x = { label = "Topology" }
y = { metric = "throughput", label = "Throughput", unit = "rps" }

[[plot]]
kind = "cdf"
title = "Deviation"
x = { metric = "deviation", label = "Deviation", unit = "%" }

[[plot]]
kind = "table"
title = "The same in another unit"
y = { metric = "throughput", label = "Throughput", unit = "Mrps" }

[[paper]]
series = "beacon"
metric = "throughput"
values = { "79-uniform" = 3.08e6 }
from = "table 2"

[[paper]]
series = "beacon"
metric = "deviation"
says = "up to 50 % either way"
from = "figure 7"
"#;

fn meta(plan: &str) -> Meta {
    Meta {
        plan: plan.into(),
        source: "Maestro, table 2".into(),
        title: "Throughput <b>of</b> seven & more".into(),
        form: RunForm::Quick,
        aldis: "0.1.0".into(),
        commit: "0123abcd".into(),
        command: "aldis lab run maestro/table-2 --quick".into(),
        seed: 7,
        date: "2026-11-22".into(),
        partial: false,
        why: None,
        notes: vec!["NOX | is not measured: it <no longer> builds.".into()],
        machine: MachineInfo { cpu: "A processor".into(), cores: 2, kernel: "Linux 6.12.0".into() },
    }
}

fn point(series: &str, x: X, metric: &str, value: f64) -> Point {
    let (origin, mark) = (ValueOrigin::Measured, ValueMark::None);
    let unit = if metric == "throughput" { "rps".into() } else { "%".into() };
    Point { series: series.into(), x, metric: metric.into(), value, unit, repeat: 0, origin, mark }
}

/// A folder of its own with results, gone in the end.
struct ReportFolder(Folder);

impl ReportFolder {
    fn new(name: &str) -> ReportFolder {
        ReportFolder(Folder::new(name))
    }

    /// Results of `plan`; the folder where they are.
    fn results(&self, plan: &str) -> PathBuf {
        let mut writer = ResultsWriter::create(&self.0, &meta(plan), PLAN_TEXT).unwrap();
        let uniform = || X::Word("79-uniform".into());
        let mut points = vec![
            point("beacon", uniform(), "throughput", 2.5e6),
            point("beacon", X::Word("79-skewed".into()), "throughput", 2.0e6),
            Point {
                mark: ValueMark::GeneratorLimited,
                ..point("<script>alert(1)</script>", uniform(), "throughput", 9e6)
            },
        ];
        points.push(Point {
            origin: ValueOrigin::Simulated,
            ..point("nox", uniform(), "throughput", 1e6)
        });
        for sample in 0..100 {
            points.push(point(
                "beacon",
                X::Number(f64::from(sample)),
                "deviation",
                f64::from(sample - 50),
            ));
        }
        for point in &points {
            writer.point(point).unwrap();
        }
        writer.finish(&meta(plan)).unwrap()
    }
}

/// The tags of a page that are opened and not closed, in their order; panics where one is closed
/// that was not opened.
fn unclosed(page: &str) -> Vec<String> {
    const VOID: [&str; 3] = ["meta", "!DOCTYPE", "br"];
    let mut open: Vec<String> = Vec::new();
    for tag in page.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').expect("a tag ends");
        let name = tag.split([' ', '\n']).next().unwrap_or_default();
        assert!(!tag.contains('<'), "{tag}");
        if let Some(name) = name.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "closed in another order");
        } else if !tag.ends_with('/') && !VOID.contains(&name) {
            open.push(name.to_owned());
        }
    }
    open
}

#[test]
fn the_page_is_whole_and_needs_nothing_from_outside() {
    let scratch = ReportFolder::new("page");
    scratch.results("maestro/table-2");
    let page = PapersReport::read(&scratch.0, None).unwrap().html();
    assert_eq!(unclosed(&page), [""; 0]);
    for outside in ["<script", "<link", "<img", "@import", "url(", "src=", "http://localhost"] {
        assert!(!page.contains(outside), "{outside}");
    }
    let links = page.matches("http").count();
    assert_eq!(
        links,
        page.matches("xmlns=\"http://www.w3.org/2000/svg\"").count(),
        "only names of formats"
    );
    assert_eq!(page.matches("<svg ").count(), 2);
    assert!(page.contains("href=\"#maestro-table-2\"") && page.contains("id=\"maestro-table-2\""));
}

#[test]
fn names_cannot_become_markup() {
    let scratch = ReportFolder::new("markup");
    scratch.results("maestro/table-2");
    let report = PapersReport::read(&scratch.0, None).unwrap();
    let page = report.html();
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && !page.contains("<script"));
    assert!(page.contains("Throughput &lt;b&gt;of&lt;/b&gt; seven &amp; more"));
    let files = markdown::files(&report);
    let (_, text) = files.iter().find(|(name, _)| name == "maestro/table-2.md").unwrap();
    assert!(text.contains("\\<script\\>") && text.contains("NOX \\| is not measured"));
}

#[test]
fn the_numbers_stand_beside_the_papers() {
    let scratch = ReportFolder::new("numbers");
    scratch.results("maestro/table-2");
    let report = PapersReport::read(&scratch.0, None).unwrap();
    let files = markdown::files(&report);
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        ["README.md", "maestro/table-2-1.svg", "maestro/table-2-2.svg", "maestro/table-2.md"]
    );
    let text = &files[3].1;
    for line in [
        "| Topology | 79-uniform | 79-skewed |",
        "| Beacon's design in Aldis | 2.50 M | 2.00 M |",
        "| Beacon, paper (table 2) | 3.08 M | – |",
        "| NOX's design in Aldis, simulated | 1.00 M | – |",
        "† generator-limited",
        "| Beacon's design in Aldis | 100 | -50.0 | -46.0 | -26.0 | -1.00 | 24.0 | 44.0 | 49.0 |",
        "- Beacon: up to 50 % either way (figure 7)",
        "1 of 104 values are simulated (NOX's design in Aldis), drawn hollow and dashed.",
        "1 of 104 values are generator-limited",
        "![Deviation](table-2-2.svg)",
        "- Command: `aldis lab run maestro/table-2 --quick`",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    assert!(!text.contains("2.50 |"), "the same numbers in another unit");
    assert!(files[0].1.contains(
        "](maestro/table-2.md) | 2 cores | quick | 2026-11-22 | simulated, generator-limited |"
    ));
}

#[test]
fn a_papers_range_is_told_by_its_ends() {
    let plot = "kind = \"bars\"\ntitle = \"t\"\ny = { metric = \"deviation\" }\n";
    let paper = "series = \"a\"\nmetric = \"deviation\"\nfrom = \"figure 4c\"\nvalues = [[\"x\", 40], [\"x\", 60]]\n";
    let points = [point("a", X::Word("x".into()), "deviation", 80.0)];
    let paper: Paper = toml::from_str(paper).unwrap();
    let figure = Figure::new(&toml::from_str(plot).unwrap(), &points, &[paper]);
    let table = tables::tables(&[figure]).remove(0).remove(0);
    let cells: Vec<&str> =
        table.rows.iter().flat_map(|row| &row.cells[1..]).map(|cell| &**cell).collect();
    assert_eq!(cells, ["80.0", "40.0 – 60.0"]);
    assert!(table.notes.is_empty(), "{:?}", table.notes);
}

#[test]
fn a_distribution_says_that_the_generator_limited_some_of_it() {
    let plot = "kind = \"cdf\"\ntitle = \"t\"\nx = { metric = \"deviation\" }\n";
    let of = |series| move |at: u32| point(series, X::Number(at.into()), "deviation", at.into());
    let mut points: Vec<Point> = (0..9).map(of("nox")).chain((0..9).map(of("beacon"))).collect();
    points[3].mark = ValueMark::GeneratorLimited;
    let figure = Figure::new(&toml::from_str(plot).unwrap(), &points, &[]);
    let table = tables::tables(&[figure]).remove(0).remove(0);
    let names: Vec<&str> = table.rows.iter().map(|row| row.cells[0].as_str()).collect();
    assert_eq!(names, ["NOX's design in Aldis†", "Beacon's design in Aldis"]);
    assert_eq!(table.notes, ["† generator-limited"]);
}

/// The cells of a table of throughput over offered rates, its head first.
fn cells(rates: &[(&str, f64, f64)]) -> Vec<Vec<String>> {
    let plot = "kind = \"lines\"\ntitle = \"t\"\nx = { label = \"Offered\", unit = \"rps\" }\n\
                y = { metric = \"throughput\", unit = \"rps\" }\n";
    let at = |&(series, rate, value): &(&str, f64, f64)| {
        point(series, X::Number(rate), "throughput", value)
    };
    let points: Vec<Point> = rates.iter().map(at).collect();
    let figure = Figure::new(&toml::from_str(plot).unwrap(), &points, &[]);
    let table = tables::tables(&[figure]).remove(0).remove(0);
    let rows = table.rows.into_iter().map(|row| row.cells);
    std::iter::once(table.head).chain(rows).collect()
}

#[test]
fn the_places_of_a_table_are_numbers_like_the_others() {
    let measured = [("a", 106_565.777_950_069_47, 9e5), ("b", 106_571.2, 8e5)];
    let few = [("a", 79.0, 1e5), ("a", 4096.0, 2e5), ("b", 10.000_038_757, 3e5)];
    assert_eq!(
        cells(&[&few[..], &measured].concat()),
        [
            vec!["Offered", "10.0", "79", "4096", "107 k"],
            vec!["a", "–", "100 k", "200 k", "900 k"],
            vec!["b", "300 k", "–", "–", "800 k"],
        ]
    );
    let powers: Vec<_> = (0..12).map(|power| ("a", f64::from(1 << power), 1e5)).collect();
    let down = cells(&[&powers[..], &measured].concat());
    assert_eq!(down[1], ["1", "100 k", "–"]);
    assert_eq!(down.last().unwrap(), &["107 k", "900 k", "800 k"]);
}

#[test]
fn no_value_of_a_series_is_lost_to_another_that_is_written_alike() {
    let cells = cells(&[("a", 106_565.7, 9e5), ("a", 107_001.0, 8e5), ("b", 106_900.0, 7e5)]);
    assert_eq!(cells[0], ["Offered", "107 k", "107 k"]);
    assert_eq!(cells[1..], [["a", "900 k", "800 k"], ["b", "700 k", "–"]]);
}

#[test]
fn a_step_stands_in_its_table_with_what_holds_from_there_on() {
    let steps = [("a", 0.0, 4e6), ("a", 10.0, 4e6), ("a", 10.0, 1e6), ("b", 10.0, 3e6)];
    let expected = [["Offered", "0", "10"], ["a", "4.00 M", "1.00 M"], ["b", "–", "3.00 M"]];
    assert_eq!(cells(&steps), expected);
}

#[test]
fn what_did_not_end_is_shown_as_partial() {
    let scratch = ReportFolder::new("partial");
    let folder = scratch.results("maestro/table-2");
    let whole = fs::read_to_string(folder.join(results::POINTS)).unwrap();
    fs::write(folder.join(results::POINTS), &whole[..whole.len() - 3]).unwrap();
    let died = ResultsWriter::create(&scratch.0, &meta("maestro/died"), PLAN_TEXT).unwrap();
    drop(died);
    let report = PapersReport::read(&scratch.0, None).unwrap();
    let page = report.html();
    assert_eq!(page.matches("<strong>Partial.</strong>").count(), 2);
    assert!(page.contains("the last line of the points was cut off"));
    assert!(page.contains("the run has not ended, or something ended it"));
    assert!(page.contains("2 of them did not end"));
    assert!(page.contains("Deviation: there is no value to draw."));
    assert_eq!(markdown::files(&report)[0].1.matches("partial").count(), 2);
}

#[test]
fn what_a_person_wrote_is_taken_in_and_never_written() {
    let scratch = ReportFolder::new("discussion");
    scratch.results("results/maestro");
    let written = "The order agrees.\n\nThe *size* does not: see `fair-rounds`.\n";
    let discussion = scratch.0.join("experiments/results/maestro.md");
    fs::create_dir_all(discussion.parent().unwrap()).unwrap();
    fs::write(&discussion, written).unwrap();
    let report = PapersReport::read(&scratch.0, Some(&scratch.0.join("experiments"))).unwrap();
    assert!(report.html().contains(
        "<p>The order agrees.</p>\n<p>The *size* does not: see <code>fair-rounds</code>.</p>"
    ));
    let origin = "As somebody wrote in <code>maestro.md</code>; its numbers";
    assert!(report.html().contains(origin), "whoever ran it did not write it");
    report.write_markdown(&scratch.0.join("docs")).unwrap();
    let page = fs::read_to_string(scratch.0.join("docs/results/maestro.md")).unwrap();
    assert!(page.contains(
        "## What agrees with the paper, and what does not\n\nThe order agrees.\n\nThe *size*"
    ));
    assert_eq!(fs::read_to_string(&discussion).unwrap(), written);
}

#[test]
fn experiments_stand_in_the_papers_order_and_numbers_by_size() {
    let scratch = ReportFolder::new("order");
    let papers = ["maestro/figure-6", "maestro/figure-10", "maestro/table-1", "beacon/figure-4a"];
    let others = ["mine/2-a", "mine/10", "yours"];
    for plan in papers.iter().chain(&others).rev() {
        scratch.results(plan);
    }
    let report = PapersReport::read(&scratch.0, None).unwrap();
    let found: Vec<&str> = report.experiments.iter().map(|one| &*one.results.meta.plan).collect();
    assert_eq!(found, [&papers[..], &others[..]].concat());
}

#[test]
fn results_of_several_machines_are_one_page_most_cores_first() {
    let scratch = ReportFolder::new("machines");
    let plan = "maestro/table-2";
    // The same plan in folders of their own: of this machine, of a larger one, and once more of it.
    for (name, cores) in [("a", 2), ("b", 16), ("c", 16)] {
        let folder = scratch.results(plan);
        let meta = fs::read_to_string(folder.join(results::META)).unwrap();
        let (before, after) = meta.split_once("\ncores = ").unwrap();
        let (_, after) = after.split_once('\n').unwrap();
        fs::write(folder.join(results::META), format!("{before}\ncores = {cores}\n{after}"))
            .unwrap();
        fs::create_dir_all(scratch.0.join(name)).unwrap();
        fs::rename(scratch.0.join("maestro"), scratch.0.join(name).join("maestro")).unwrap();
    }
    let said = scratch.0.join("said/maestro");
    fs::create_dir_all(&said).unwrap();
    fs::write(said.join("table-2.md"), "Of few cores.\n").unwrap();
    fs::write(said.join("table-2.16-cores.md"), "Of many cores.\n").unwrap();
    let report = PapersReport::read(&scratch.0, Some(&scratch.0.join("said"))).unwrap();
    let [refused] = &report.refused[..] else { panic!("{:?}", report.refused) };
    assert!(refused.contains("/c/maestro/table-2: ") && refused.contains("16 cores"), "{refused}");
    let files = markdown::files(&report);
    let names: Vec<&str> = files.iter().map(|(name, _)| &**name).collect();
    assert!(names.contains(&"maestro/table-2-16-cores-1.svg"), "{names:?}");
    let [page] =
        &files.iter().filter(|(name, _)| name.ends_with("table-2.md")).collect::<Vec<_>>()[..]
    else {
        panic!("{names:?}")
    };
    let at = |words: &str| page.1.find(words).unwrap_or_else(|| panic!("{words}: {}", page.1));
    let order =
        ["## The paper says", "## On 16 cores", "Of many", "## On 2 cores", "Of few"].map(at);
    assert!(order.is_sorted(), "{}", page.1);
    assert_eq!(page.1.matches("## The paper says").count(), 1);
    let html = report.html();
    assert!(html.contains("id=\"maestro-table-2-16-cores\"") && html.contains(">2 cores<"));
    for file in ["table-2.16-cores.md", "table-2.md"] {
        assert!(html.contains(&format!("wrote in <code>{file}</code>")), "{file}");
    }
}

#[test]
fn without_a_paper_the_expectation_is_what_may_agree() {
    let scratch = ReportFolder::new("ours");
    let folder = scratch.results("ours/presets");
    let (plan, _) = PLAN_TEXT.split_once("[[paper]]").unwrap();
    fs::write(folder.join(PLAN), plan).unwrap();
    fs::create_dir_all(scratch.0.join("said/ours")).unwrap();
    fs::write(scratch.0.join("said/ours/presets.md"), "It is met.\n").unwrap();
    let report = PapersReport::read(&scratch.0, Some(&scratch.0.join("said"))).unwrap();
    let heading = "What agrees with the expectation, and what does not";
    assert!(report.html().contains(&format!("<h3>{heading}</h3>")));
    let files = markdown::files(&report);
    let (_, page) = files.last().unwrap();
    assert!(page.contains(&format!("## {heading}\n")) && !page.contains("the paper"), "{page}");
}

#[test]
fn one_series_stands_in_a_column_and_relations_are_said_once() {
    let title = |label: &str| {
        let plot = format!(
            "kind = \"lines\"\ntitle = \"t\"\ny = {{ metric = \"throughput\", label = \"{label}\", relative-to = 1 }}\n"
        );
        let points = [1.0, 2.0].map(|x| point("a", X::Number(x), "throughput", x));
        let figure = Figure::new(&toml::from_str(&plot).unwrap(), &points, &[]);
        tables::tables(&[figure]).remove(0).remove(0)
    };
    let table = title("Throughput");
    assert_eq!((&*table.title, table.head[1].as_str()), ("Throughput, relative to 1", "a"));
    let rows: Vec<_> = table.rows.iter().map(|row| row.cells.join(" ")).collect();
    assert_eq!(rows, ["1 1.00", "2 2.00"]);
    assert_eq!(title("Times more, relative to 1").title, "Times more, relative to 1");
}

#[test]
fn broken_results_do_not_hide_the_others() {
    let scratch = ReportFolder::new("broken");
    scratch.results("maestro/table-2");
    let broken = scratch.results("maestro/broken");
    fs::write(broken.join(results::POINTS), "nonsense\n").unwrap();
    let unplanned = scratch.results("maestro/unplanned");
    fs::write(unplanned.join(PLAN), "[[plot]]\nkind = \"pie\"\n").unwrap();
    let elsewhere = scratch.results("maestro/elsewhere");
    let text = fs::read_to_string(elsewhere.join(results::META)).unwrap();
    fs::write(elsewhere.join(results::META), text.replace("maestro/elsewhere", "../../elsewhere"))
        .unwrap();
    let report = PapersReport::read(&scratch.0, None).unwrap();
    assert_eq!((report.experiments.len(), report.refused.len()), (2, 2));
    let page = report.html();
    assert!(page.contains("maestro/broken/points.csv, line 1: the first line has to be"));
    assert!(page.contains("maestro/unplanned/plan.toml, line 2: unknown variant `pie`"));
    assert!(page.contains("`../../elsewhere` is no plan&#39;s name"));
    assert_eq!(unclosed(&page), [""; 0]);
    let nothing = PapersReport::read(&scratch.0.join("maestro/broken/.."), None);
    assert!(nothing.is_ok());
    fs::create_dir(scratch.0.join("empty")).unwrap();
    let refused = PapersReport::read(&scratch.0.join("empty"), None).unwrap_err().to_string();
    assert!(refused.contains("no results in") && refused.contains("aldis lab run"), "{refused}");
}
