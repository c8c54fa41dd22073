//! What the pictures show, counted in their text.

use super::*;
use crate::figure::{Paper, Plot};
use crate::results::{Point, ValueMark, ValueOrigin, X};
use proptest::prelude::*;

fn plot(text: &str) -> Plot {
    let plot: Plot = toml::from_str(text).unwrap();
    plot.check().unwrap();
    plot
}

fn paper(text: &str) -> Paper {
    let paper: Paper = toml::from_str(text).unwrap();
    paper.check().unwrap();
    paper
}

fn point(series: &str, x: impl Into<X>, value: f64) -> Point {
    Point {
        series: series.into(),
        x: x.into(),
        metric: "throughput".into(),
        value,
        unit: "rps".into(),
        repeat: 0,
        origin: ValueOrigin::Measured,
        mark: ValueMark::None,
    }
}

impl From<f64> for X {
    fn from(number: f64) -> X {
        X::Number(number)
    }
}

impl From<&str> for X {
    fn from(word: &str) -> X {
        X::Word(word.into())
    }
}

const LINES: &str = "kind = \"lines\"\ntitle = \"Throughput over workers\"\nx = { label = \"Workers\" }\n\
                     y = { metric = \"throughput\", label = \"Throughput\", unit = \"rps\" }\n";

/// The texts of a picture in their order, without its title.
fn texts(picture: &str) -> Vec<&str> {
    let begins = picture.split("<text ").skip(1);
    begins.filter_map(|text| text.split_once(">\n")?.1.lines().next()).collect()
}

/// How many signs of some kind are drawn in a series' colour.
fn drawn(picture: &str, tag: &str, attribute: &str) -> usize {
    let tag = format!("<{tag} ");
    picture.lines().filter(|line| line.starts_with(&tag) && line.contains(attribute)).count()
}

#[test]
fn the_axes_say_what_they_show() {
    let points: Vec<Point> = (1..=7)
        .map(|workers| point("beacon", f64::from(workers), 4e5 * f64::from(workers)))
        .collect();
    let picture = draw(&Figure::new(&plot(LINES), &points, &[])).unwrap();
    let texts = texts(&picture);
    assert_eq!(texts[..2], ["Throughput over workers", "Throughput (rps)"]);
    for label in
        ["0", "500 k", "2.5 M", "3.0 M", "1", "7", "Workers", "Beacon&apos;s design in Aldis"]
    {
        assert!(texts.contains(&label), "{label} in {texts:?}");
    }
    assert!(!texts.contains(&"measured"), "nothing else is drawn that it has to be told from");
    // One line and one dot a place, and both again in the legend.
    assert_eq!(drawn(&picture, "polyline", "stroke=\"#0072B2\""), 2);
    assert_eq!(drawn(&picture, "circle", "fill=\"#0072B2\""), 7 + 1);
}

#[test]
fn a_logarithmic_axis_has_marks_at_powers_of_ten() {
    let log = LINES.replace("\"Workers\"", "\"IBT\", log = true");
    let points = [1.0, 16.0, 256.0, 4096.0].map(|ibt| point("beacon", ibt, 1e6));
    let picture = draw(&Figure::new(&plot(&log), &points, &[])).unwrap();
    let texts = texts(&picture);
    for label in ["1", "10", "100", "1000"] {
        assert!(texts.contains(&label), "{label} in {texts:?}");
    }
    let place = |ibt: f64| {
        let dots = picture.lines().filter(|line| line.starts_with("<circle"));
        let dots: Vec<f64> = dots
            .map(|dot| dot.split('"').nth(1).and_then(|x| x.parse().ok()).expect("its x"))
            .collect();
        dots[[1.0, 16.0, 256.0, 4096.0].iter().position(|other| *other == ibt).unwrap()]
    };
    let (first, second) = (place(16.0) - place(1.0), place(4096.0) - place(256.0));
    assert!((first - second).abs() <= 2.0, "equal factors, equal distances: {first} {second}");
}

#[test]
fn the_papers_values_stand_beside_ours_in_another_stroke() {
    let points = [1.0, 7.0].map(|workers| point("beacon", workers, 4e5 * workers));
    let papers = [
        paper(
            "series = \"beacon\"\nmetric = \"throughput\"\nunit = \"Mrps\"\nvalues = [[1, 0.5], [7, 3.08]]\nfrom = \"table 2\"",
        ),
        paper(
            "series = \"nox\"\nmetric = \"throughput\"\nvalues = [[1, 4e5], [7, 2.51e6]]\nfrom = \"table 2\"",
        ),
    ];
    let figure = Figure::new(&plot(LINES), &points, &papers);
    let roles: Vec<_> =
        figure.panels[0].series.iter().map(|series| (series.name.as_str(), series.role)).collect();
    assert_eq!(
        roles,
        [
            ("beacon", SeriesRole::Measured),
            ("beacon", SeriesRole::Paper),
            ("nox", SeriesRole::Paper)
        ]
    );
    assert_eq!(figure.panels[0].series[1].spots[1].median, 3.08e6);
    let picture = draw(&figure).unwrap();
    for label in ["Beacon&apos;s design in Aldis", "NOX", "measured", "paper"] {
        assert!(texts(&picture).contains(&label), "{label}");
    }
    // Two crosses and one in the legend, of two strokes each: the paper drew no line through them.
    assert_eq!(drawn(&picture, "polyline", "stroke=\"#D55E00\""), 0);
    assert_eq!(drawn(&picture, "line", "stroke=\"#D55E00\""), 3 * 2);
}

#[test]
fn more_than_five_lines_are_drawn_in_panels_of_their_own_on_the_same_axes() {
    let picture = |series: u32| {
        let names: Vec<String> = (0..series).map(|at| format!("series {at}")).collect();
        let of = |name: &String| [1.0, 7.0].map(|workers| point(name, workers, 4e5 * workers));
        let points: Vec<Point> = names.iter().flat_map(of).collect();
        draw(&Figure::new(&plot(LINES), &points, &[])).unwrap()
    };
    let panels =
        |picture: &str| texts(picture).iter().filter(|text| **text == "Throughput (rps)").count();
    assert_eq!([5, 6, 11].map(|series| panels(&picture(series))), [1, 2, 3]);
    let many = picture(12);
    // Each line twice, in its panel and in the legend, and no colour twice.
    let colours =
        SERIES.map(|(light, _)| drawn(&many, "polyline", &format!("stroke=\"#{light:06X}\"")));
    assert_eq!(colours, [2; 12]);
}

#[test]
fn a_line_with_many_points_and_a_distribution_have_markers() {
    let points: Vec<Point> =
        (1..=200).map(|at| point("beacon", f64::from(at), f64::from(at))).collect();
    for kind in ["timeline", "lines", "cdf"] {
        let text = match kind {
            "cdf" => "kind = \"cdf\"\ntitle = \"t\"\nx = { metric = \"throughput\" }\n".to_owned(),
            kind => LINES.replace("\"lines\"", &format!("\"{kind}\"")),
        };
        let picture = draw(&Figure::new(&plot(&text), &points, &[])).unwrap();
        let dots = drawn(&picture, "circle", "fill=\"#0072B2\"");
        assert!((5..=12).contains(&dots), "{kind}: {dots}");
    }
}

#[test]
fn a_papers_range_is_a_whisker_and_its_values_alone_are_no_picture() {
    let bars = LINES.replace("\"lines\"", "\"bars\"");
    let paper = |values: &str| {
        paper(&format!(
            "series = \"latency\"\nmetric = \"throughput\"\nvalues = {values}\nfrom = \"figure 4c\""
        ))
    };
    let range = paper("[[\"nox\", 60], [\"nox\", 40], [\"beacon\", 25]]");
    let ours = [point("latency", "nox", 80.0)];
    let figure = Figure::new(&plot(&bars), &ours, std::slice::from_ref(&range));
    let spots = &figure.panels[0].series[1].spots;
    let found: Vec<_> = spots.iter().map(|spot| (spot.low, spot.high, spot.is_range())).collect();
    assert_eq!(found, [(40.0, 60.0, true), (25.0, 25.0, false)]);
    let lines = |papers: &[Paper]| {
        let picture = draw(&Figure::new(&plot(&bars), &ours, papers)).unwrap();
        drawn(&picture, "line", "stroke=\"#0072B2\"")
    };
    // A whisker has three strokes, as a value and its cross have.
    let value = paper("{ \"nox\" = 50, \"beacon\" = 25 }");
    assert_eq!(lines(std::slice::from_ref(&range)), lines(&[value]));
    assert!(draw(&Figure::new(&plot(&bars), &[], &[range])).is_none());
}

#[test]
fn what_was_simulated_or_limited_shows() {
    let mut points = vec![point("beacon", 1.0, 4e5), point("beacon", 2.0, 8e5)];
    for workers in [4.0, 8.0] {
        let simulated =
            Point { origin: ValueOrigin::Simulated, ..point("beacon", workers, 4e5 * workers) };
        points.push(simulated);
    }
    points[1].mark = ValueMark::GeneratorLimited;
    let figure = Figure::new(&plot(LINES), &points, &[]);
    let picture = draw(&figure).unwrap();
    let texts = texts(&picture);
    for label in ["measured", "simulated", "generator-limited"] {
        assert!(texts.contains(&label), "{label}");
    }
    // Hollow dots have the page's colour inside; one ring, and one in the legend.
    assert_eq!(drawn(&picture, "circle", "fill=\"#FFFFFF\""), 2);
    assert_eq!(drawn(&picture, "circle", "fill=\"none\""), 2);
}

#[test]
fn repeats_are_a_median_with_the_range() {
    let mut points = Vec::new();
    for (repeat, value) in [3.0, 1.0, 2.0, 10.0].into_iter().enumerate() {
        points.push(Point { repeat: repeat as u32, ..point("beacon", "79-uniform", value) });
    }
    let bars = LINES.replace("\"lines\"", "\"bars\"");
    let figure = Figure::new(&plot(&bars), &points, &[]);
    let spot = &figure.panels[0].series[0].spots[0];
    assert_eq!((spot.median, spot.low, spot.high, spot.repeats), (2.5, 1.0, 10.0, 4));
    let picture = draw(&figure).unwrap();
    assert!(texts(&picture).contains(&"79-uniform"));
    assert!(texts(&picture).contains(&"median, least to greatest"));
    assert_eq!(drawn(&picture, "rect", "fill=\"#0072B2\""), 1);
}

#[test]
fn a_distribution_climbs_to_all_of_its_samples() {
    let text = "kind = \"cdf\"\ntitle = \"Fairness\"\nx = { metric = \"throughput\", label = \"Deviation\", unit = \"%\" }\n";
    let points: Vec<Point> = (0..200)
        .map(|sample| Point {
            unit: "".into(),
            ..point("beacon", f64::from(sample), f64::from(sample - 100) / 100.0)
        })
        .collect();
    let papers = [paper(
        "series = \"beacon\"\nmetric = \"throughput\"\nvalues = [[-50, 0.1], [50, 0.9]]\nfrom = \"figure 7\"",
    )];
    let figure = Figure::new(&plot(text), &points, &papers);
    let samples = &figure.panels[0].series[0].samples;
    assert_eq!(
        (quantile(samples, 0.0), quantile(samples, 0.5), quantile(samples, 1.0)),
        (-100.0, -1.0, 99.0)
    );
    let picture = draw(&figure).unwrap();
    for label in ["Share of samples at or below", "Deviation (%)", "-100", "100", "0", "1.0"] {
        assert!(texts(&picture).contains(&label), "{label} in {:?}", texts(&picture));
    }
}

#[test]
fn a_distribution_of_which_the_generator_limited_some_has_a_ring() {
    let text = "kind = \"cdf\"\ntitle = \"Fairness\"\nx = { metric = \"throughput\" }\n";
    let mut points: Vec<Point> =
        (0..20).map(|sample| point("nox", f64::from(sample), f64::from(sample))).collect();
    let rings = |points: &[Point]| {
        let picture = draw(&Figure::new(&plot(text), points, &[])).unwrap();
        let is_told = texts(&picture).contains(&"generator-limited");
        (drawn(&picture, "circle", "fill=\"none\""), is_told)
    };
    assert_eq!(rings(&points), (0, false));
    points[7].mark = ValueMark::GeneratorLimited;
    // One, and one in the legend.
    assert_eq!(rings(&points), (2, true));
}

#[test]
fn panels_share_the_axis_and_relations_have_no_unit() {
    let text = format!(
        "{}also = [{{ metric = \"delay\", unit = \"ms\", log = true }}]\nreference = {{ label = \"ideal\", slope = 1 }}\n",
        LINES.replace("unit = \"rps\"", "unit = \"rps\", relative-to = 1")
    );
    let mut points = Vec::new();
    for workers in [1.0, 2.0, 4.0] {
        points.push(point("beacon", workers, 4e5 * workers));
        points.push(Point {
            metric: "delay".into(),
            unit: "us".into(),
            ..point("beacon", workers, 900.0 * workers)
        });
    }
    points.push(point("late", 2.0, 1e5));
    points.push(Point { origin: ValueOrigin::Simulated, ..point("beacon", 8.0, 32e5) });
    let figure = Figure::new(&plot(&text), &points, &[]);
    let medians = |panel: usize| {
        figure.panels[panel].series[0].spots.iter().map(|spot| spot.median).collect::<Vec<_>>()
    };
    assert_eq!(figure.panels[0].series[1].spots[0].median, 8.0, "what was measured is its base");
    assert_eq!((medians(0), medians(1)), (vec![1.0, 2.0, 4.0], vec![0.9, 1.8, 3.6]));
    assert_eq!(figure.left_out, ["late has no value at 1 that the others could be related to"]);
    let picture = draw(&figure).unwrap();
    let texts = texts(&picture);
    assert_eq!(texts.iter().filter(|text| **text == "Workers").count(), 1);
    assert!(
        texts.contains(&"delay (ms)") && texts.contains(&"ideal") && texts.contains(&"Throughput")
    );
}

#[test]
fn panels_above_each_other_have_their_places_above_each_other() {
    let also = "also = [{ metric = \"delay\", label = \"Delay\", unit = \"ms\" }]\n";
    for (kind, sign, place) in [("lines", "circle", "cx=\""), ("bars", "rect", "x=\"")] {
        let text = LINES.replace("\"lines\"", &format!("\"{kind}\"")) + also;
        let values = |workers: f64| {
            let delay = point("beacon", workers, workers);
            [
                point("beacon", workers, 123_456_789.0 * workers),
                Point { metric: "delay".into(), unit: "ms".into(), ..delay },
            ]
        };
        let points: Vec<Point> = [1.0, 2.0, 4.0].into_iter().flat_map(values).collect();
        let picture = draw(&Figure::new(&plot(&text), &points, &[])).unwrap();
        let labels = texts(&picture);
        assert!(labels.contains(&"300 M") && labels.contains(&"4"), "{labels:?}");
        let tag = format!("<{sign} ");
        let signs = picture
            .lines()
            .filter(|line| line.starts_with(&tag) && line.contains("fill=\"#0072B2\""));
        let places: Vec<&str> = signs
            .map(|sign| sign.split_once(place).unwrap().1.split('"').next().unwrap())
            .collect();
        assert_eq!(places[..3], places[3..6], "{kind}");
    }
}

#[test]
fn long_names_are_cut_into_lines() {
    let font = Font { bold: false, size: 10.0, ..TITLE };
    let lines = wrapped("maestro-round-robin by hand", &font, 60.0);
    assert_eq!(lines, ["maestro-", "round-", "robin by", "hand"]);
    let narrow = wrapped("maestro-round", &font, font.width("xxxxx"));
    assert_eq!(narrow, ["maest", "ro-", "round"]);
}

#[test]
fn what_cannot_be_drawn_is_said() {
    let strange = Point { unit: "bananas".into(), ..point("beacon", 1.0, 1.0) };
    let figure = Figure::new(&plot(LINES), &[strange, point("nox", 1.0, 1.0)], &[]);
    assert_eq!(figure.left_out, ["beacon has values in `bananas`, which cannot be drawn in `rps`"]);
    assert!(draw(&Figure::new(&plot(LINES), &[], &[])).is_none());
    let table = LINES.replace("\"lines\"", "\"table\"");
    assert!(draw(&Figure::new(&plot(&table), &[point("nox", 1.0, 1.0)], &[])).is_none());
    let log = LINES.replace("unit = \"rps\"", "unit = \"rps\", log = true");
    assert!(draw(&Figure::new(&plot(&log), &[point("nox", 1.0, 0.0)], &[])).is_none());
}

#[test]
fn many_values_make_no_larger_a_picture_than_can_be_seen() {
    let timeline = LINES.replace("\"lines\"", "\"timeline\"");
    let points: Vec<Point> =
        (0..100_000).map(|at| point("beacon", f64::from(at), f64::from(at % 97))).collect();
    let picture = draw(&Figure::new(&plot(&timeline), &points, &[])).unwrap();
    assert!(picture.len() < 64 << 10, "{} bytes", picture.len());
}

fn any_points() -> impl Strategy<Value = Vec<Point>> {
    // Without an n, so that no name has `inf` in it, which has to be missed below.
    let word = "[a-mo-z<&\"]{1,30}".prop_map(X::Word);
    let x = prop_oneof![(-1e3f64..1e6).prop_map(X::Number), word];
    let one =
        ("[a-d<>&]{1,2}", x, prop_oneof![any::<f64>(), -10.0f64..1e7], 0u32..4, any::<bool>());
    let point = one.prop_map(|(series, x, value, repeat, simulated)| {
        let origin = if simulated { ValueOrigin::Simulated } else { ValueOrigin::Measured };
        let value = if value.is_finite() { value } else { 0.0 };
        Point { repeat, origin, ..point(&series, x, value) }
    });
    proptest::collection::vec(point, 0..40)
}

proptest! {
    #[test]
    fn any_points_make_a_picture_or_none(points in any_points(), kind in 0usize..4, log: bool) {
        let kind = ["lines", "bars", "cdf", "timeline"][kind];
        let text = match kind {
            "cdf" => format!("kind = \"cdf\"\ntitle = \"t\"\nx = {{ metric = \"throughput\", log = {log} }}\n"),
            _ => format!("kind = \"{kind}\"\ntitle = \"t\"\ny = {{ metric = \"throughput\", log = {log} }}\n"),
        };
        if let Some(picture) = draw(&Figure::new(&plot(&text), &points, &[])) {
            prop_assert!(!picture.contains("NaN") && !picture.contains("inf"));
            let tags = |sign: &str| picture.matches(sign).count();
            prop_assert_eq!(tags("<"), tags(">"), "markup in a name");
            prop_assert_eq!(tags("<text "), tags("</text>"));
            // Coordinates that left the whole numbers would stand at their ends.
            prop_assert!(!picture.contains("2147483647") && !picture.contains("-2147483648"));
        }
    }
}

#[test]
fn repeats_are_one_place_though_the_rate_differs_a_little_and_a_step_is_two() {
    let again = |repeat, point: Point| Point { repeat, ..point };
    let points = [
        again(0, point("a", 1_000.0, 1.0)),
        again(0, point("a", 2_000.0, 5.0)),
        again(0, point("a", 2_000.0, 9.0)),
        again(1, point("a", 1_004.0, 3.0)),
        again(2, point("a", 996.0, 2.0)),
        again(1, point("a", 1_030.0, 4.0)),
    ];
    let figure = data::Figure::new(&plot(LINES), &points, &[]);
    let spots = figure.panels[0].series[0].spots.iter();
    let found: Vec<_> = spots.map(|spot| (spot.x.clone(), spot.median, spot.repeats)).collect();
    let expected = [(1_000.0, 2.0, 3), (1_030.0, 4.0, 1), (2_000.0, 5.0, 1), (2_000.0, 9.0, 1)];
    assert_eq!(found, expected.map(|(x, median, repeats)| (X::Number(x), median, repeats)));
}

#[test]
fn names_of_categories_take_turns_in_rows_and_no_word_is_broken() {
    let bars = LINES.replace("\"lines\"", "\"bars\"");
    let names = ["beacon-immediate", "ovs-testcontroller", "maestro-dynamic-partition"];
    let points: Vec<Point> = (0..12)
        .map(|at| Point { x: names[at % 3].into(), ..point("one", 0.0, 1e6) })
        .enumerate()
        .map(|(at, point)| Point { x: format!("{}, {at}", point.x).as_str().into(), ..point })
        .collect();
    let picture = draw(&Figure::new(&plot(&bars), &points, &[])).unwrap();
    let texts = texts(&picture);
    let whole = |word: &&str| {
        let count = texts.iter().filter(|text| text.split([' ', ',', '-']).any(|is| is == *word));
        count.count() == 4
    };
    for word in ["Immediate", "testcontroller", "partition"] {
        assert!(whole(&word), "{word} in {texts:?}");
    }
    assert!(texts.iter().all(|text| !text.ends_with('…')), "{texts:?}");
}
