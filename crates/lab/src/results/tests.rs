//! Round trips, and files that the laboratory did not write.

use super::*;
use crate::calibrate::MachineInfo;
use aldis_testkit::Folder;
use proptest::prelude::*;

fn meta() -> Meta {
    Meta {
        plan: "maestro/figure-7".into(),
        source: "Maestro, figure 7".into(),
        title: "Fairness under scenario 1".into(),
        form: RunForm::Quick,
        aldis: "0.1.0".into(),
        commit: "0123abcd".into(),
        command: "aldis lab run \"maestro/figure-7\" --quick".into(),
        seed: 7,
        date: "2026-11-22".into(),
        partial: false,
        why: None,
        notes: vec!["NOX is not measured: it no longer builds.".into()],
        machine: MachineInfo { cpu: "A processor".into(), cores: 2, kernel: "Linux 6.12.0".into() },
    }
}

fn point(series: &str, x: X) -> Point {
    Point {
        series: series.into(),
        x,
        metric: "throughput".into(),
        value: 1.7e6,
        unit: "rps".into(),
        repeat: 0,
        origin: ValueOrigin::Measured,
        mark: ValueMark::None,
    }
}

#[test]
fn what_is_written_is_found_and_read_again() {
    let scratch = Folder::new("round-trip");
    let simulated = Point {
        origin: ValueOrigin::Simulated,
        mark: ValueMark::GeneratorLimited,
        ..point("ovs, \"the\" controller", X::Word("79, uniform".into()))
    };
    let points = [point("beacon", X::Number(0.1)), simulated, point("nox", X::Word("4".into()))];
    let mut writer = ResultsWriter::create(&scratch, &meta(), "title = \"a plan\"\n").unwrap();
    for point in &points {
        writer.point(point).unwrap();
    }
    writer.finish(&meta()).unwrap();
    assert_eq!(find(&scratch).unwrap(), [scratch.join("maestro/figure-7")]);
    let read = Results::read(&scratch.join("maestro/figure-7")).unwrap();
    assert_eq!((&read.meta, read.points.as_slice()), (&meta(), points.as_slice()));
    assert_eq!(read.plan.as_deref(), Some("title = \"a plan\"\n"));
    assert!(!read.partial());
    let files = fs::read_dir(scratch.join("maestro/figure-7")).unwrap().count();
    assert_eq!(files, 3, "a draft was left behind");
}

#[test]
fn a_run_that_dies_leaves_what_it_had_and_says_that_it_is_partial() {
    let scratch = Folder::new("dies");
    let mut writer = ResultsWriter::create(&scratch, &meta(), "").unwrap();
    writer.point(&point("beacon", X::Number(1.0))).unwrap();
    let folder = writer.folder().to_path_buf();
    drop(writer);
    let read = Results::read(&folder).unwrap();
    assert!(read.partial() && !read.cut);
    assert!(read.meta.why.unwrap().contains("has not ended"));
    assert_eq!(read.points.len(), 1);
}

#[test]
fn a_cut_last_line_is_left_out_and_told() {
    let whole = format!("{}a,1,m,2,,0,measured,\nb,1,m,3,,0,measured,\n", csv::HEADER);
    for end in csv::HEADER.len()..=whole.len() {
        let (points, cut) = csv::parse(&whole.as_bytes()[..end]).unwrap();
        let lines = whole[csv::HEADER.len()..end].matches('\n').count();
        assert_eq!(points.len(), lines);
        assert_eq!(cut, !whole[..end].ends_with('\n'));
    }
    assert_eq!(csv::parse(b"").unwrap(), (vec![], true));
}

#[test]
fn a_line_that_is_wrong_is_named() {
    let long = "s".repeat(NAME_BYTES_MAX + 1);
    for (line, why) in [
        ("a,1,m,2,,0,measured", "7 fields where 8 belong"),
        ("a,1,m,2,,0,measured,,", "9 fields where 8 belong"),
        ("a,1,m,fast,,0,measured,", "value: `fast` is no number"),
        ("a,1,m,nan,,0,measured,", "value: `nan` is no number"),
        ("a,inf,m,2,,0,measured,", "x: `inf` is no number"),
        ("a,1,m,2,,-1,measured,", "repeat: `-1`; accepted are 0 to 9999"),
        ("a,1,m,2,,0,guessed,", "origin: `guessed`; accepted are `measured` and `simulated`"),
        ("a,1,m,2,,0,measured,odd", "mark: `odd`; accepted are nothing and `generator-limited`"),
        (",1,m,2,,0,measured,", "series is empty"),
        ("a,,m,2,,0,measured,", "x is empty"),
        ("\"a,1,m,2,,0,measured,", "a quote is never closed"),
        ("\"a\"b,1,m,2,,0,measured,", "a comma has to follow a closing quote"),
        ("a\u{1b}[2J,1,m,2,,0,measured,", "series: `a\\u{1b}[2J` holds a control character"),
        (&format!("{long},1,m,2,,0,measured,"), "is longer than 120 bytes"),
        (&",".repeat(100_000), "9 fields where 8 belong"),
    ] {
        let text = format!("{}b,1,m,3,,0,measured,\n{line}\n", csv::HEADER);
        let fault = csv::parse(text.as_bytes()).unwrap_err();
        assert_eq!(fault.line, 3, "{line}");
        assert!(fault.why.contains(why), "{}", fault.why);
    }
    let fault = csv::parse(b"series,x\n").unwrap_err();
    assert!(fault.line == 1 && fault.why.contains("series,x,metric,value"));
    let fault = csv::parse(&[csv::HEADER.as_bytes(), b"\xff\n"].concat()).unwrap_err();
    assert_eq!((fault.line, fault.why.as_str()), (2, "not UTF-8"));
}

#[test]
fn errors_name_the_file_and_the_line() {
    let scratch = Folder::new("errors");
    let folder = ResultsWriter::create(&scratch, &meta(), "").unwrap().finish(&meta()).unwrap();
    fs::write(folder.join(POINTS), format!("{}nonsense\n", csv::HEADER)).unwrap();
    let refused = Results::read(&folder).unwrap_err().to_string();
    assert!(refused.ends_with("maestro/figure-7/points.csv, line 2: 1 fields where 8 belong"));
    fs::write(folder.join(META), "plan = \"x\"\nspeed = 3\n").unwrap();
    let refused = Results::read(&folder).unwrap_err().to_string();
    assert!(refused.contains("meta.toml, line 2: unknown field `speed`"), "{refused}");
    fs::write(folder.join(META), vec![b'#'; TEXT_BYTES_MAX as usize + 1]).unwrap();
    let refused = Results::read(&folder).unwrap_err().to_string();
    assert!(refused.contains("meta.toml is larger than"), "{refused}");
    let refused = Results::read(&scratch.join("none")).unwrap_err().to_string();
    assert!(refused.starts_with("cannot read ") && refused.contains("meta.toml"), "{refused}");
}

#[test]
fn a_plan_cannot_write_elsewhere() {
    let scratch = Folder::new("elsewhere");
    for plan in ["../x", "/etc", "a//b", "", "a/b/c/d", ".hidden", "a b", "a/.."] {
        let refused = ResultsWriter::create(&scratch, &Meta { plan: plan.into(), ..meta() }, "");
        assert!(refused.unwrap_err().to_string().contains("is no plan's name"), "{plan}");
    }
    assert_eq!(fs::read_dir(&scratch).unwrap().count(), 0);
}

#[test]
fn a_point_that_could_not_be_read_again_is_not_written() {
    for wrong in [
        point("", X::Number(1.0)),
        point("a\nb", X::Number(1.0)),
        point("a", X::Number(f64::INFINITY)),
        point("a", X::Word(String::new())),
        Point { value: f64::NAN, ..point("a", X::Number(1.0)) },
        Point { repeat: REPEATS_MAX, ..point("a", X::Number(1.0)) },
    ] {
        assert!(csv::line(&wrong).is_err(), "{wrong:?}");
    }
}

fn any_point() -> impl Strategy<Value = Point> {
    let name = "[ -~äλ]{1,30}";
    let x = prop_oneof![any::<f64>().prop_map(X::Number), name.prop_map(X::Word)];
    let values = (any::<f64>(), 0..REPEATS_MAX, any::<bool>(), any::<bool>());
    (name, x, name, "[ -~µ]{0,9}", values).prop_map(|(series, x, metric, unit, values)| {
        let (value, repeat, simulated, limited) = values;
        let origin = if simulated { ValueOrigin::Simulated } else { ValueOrigin::Measured };
        let mark = if limited { ValueMark::GeneratorLimited } else { ValueMark::None };
        Point { series, x, metric, value, unit, repeat, origin, mark }
    })
}

proptest! {
    #[test]
    fn any_point_survives(point in any_point()) {
        if let Ok(line) = csv::line(&point) {
            let text = [csv::HEADER, &line].concat();
            prop_assert_eq!(csv::parse(text.as_bytes()).unwrap(), (vec![point], false));
        }
    }

    #[test]
    fn no_bytes_do_more_than_fail(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = csv::parse(&bytes);
        let _ = csv::parse(&[csv::HEADER.as_bytes(), &bytes].concat());
        let _ = Meta::parse(&String::from_utf8_lossy(&bytes));
    }
}
