//! Discussions with the numbers of results that exist nowhere else.

use super::*;
use crate::results::{ValueMark, ValueOrigin, X};

fn points() -> Vec<Point> {
    let mut points = Vec::new();
    let mut add = |series: &str, x: X, metric: &str, values: &[f64], unit: &str, origin| {
        for (repeat, value) in values.iter().enumerate() {
            points.push(Point {
                series: series.into(),
                x: x.clone(),
                metric: metric.into(),
                value: *value,
                unit: unit.into(),
                repeat: repeat as u32,
                origin,
                mark: ValueMark::None,
            });
        }
    };
    let (measured, simulated) = (ValueOrigin::Measured, ValueOrigin::Simulated);
    let rates = [11.26e6, 12.34e6, 14.0e6];
    add("nox, 1 worker", X::Word("79-U".into()), "throughput", &rates, "rps", measured);
    add("nox, 1 worker", X::Word("79-S".into()), "throughput", &[6.0e6], "rps", measured);
    for (workers, rate) in [(1.0, 2e6), (4.0, 7.9e6), (7.0, 13e6)] {
        add("beacon", X::Number(workers), "throughput", &[rate], "rps", simulated);
    }
    for sample in 0..100 {
        let x = X::Number(f64::from(sample));
        add("beacon", x, "deviation", &[f64::from(sample - 50)], "%", simulated);
    }
    add("null", X::Number(1.0), "zero-pending", &[24_013.0], "1/s", measured);
    points
}

fn rendered(text: &str) -> Result<String, String> {
    render(text, &points(), "throughput")
}

#[test]
fn an_expression_becomes_the_value_that_the_tables_have() {
    for (text, expected) in [
        ("{{median throughput of nox, 1 worker at 79-U as Mrps}}", "12 million requests/s"),
        ("{{median of nox, 1 worker at 79-U in Mrps to 3 digits}}", "12.3"),
        ("{{range of nox, 1 worker at 79-U in Mrps}}", "11 to 14"),
        // Of several places, the median of each.
        ("{{range of nox, 1 worker in Mrps to 3 digits}}", "6.00 to 12.3"),
        ("{{greatest of beacon, simulated at 1..4 in Mrps}}", "7.9"),
        ("{{least of nox, 1 worker; beacon, simulated in Mrps}}", "2.0"),
        ("{{least of *, simulated in Mrps}}", "2.0"),
        ("{{median of beacon, simulated at 7 / median of beacon, simulated at 1 in times}}", "6.5"),
        ("{{median of beacon, simulated at 1 / median of beacon, simulated at 7 as %}}", "15 %"),
        ("{{farthest deviation of beacon, simulated as %}}", "50 %"),
        ("{{p95 deviation of beacon, simulated in %}}", "44"),
        ("{{mean deviation of beacon, simulated in %}}", "-0.50"),
        ("{{median zero-pending of null at 1 in 1/s}}", "24,013"),
        ("{{median of\nbeacon, simulated at 4\nin krps}}", "7900"),
        ("{{paper 50 %}} and {{set 2 KB}}", "50 % and 2 KB"),
    ] {
        assert_eq!(rendered(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn what_has_no_value_is_refused_with_its_line_and_what_is_known() {
    for (text, line, why) in [
        (
            "{{median throughput of nox as Mrps}}",
            1,
            "no series `nox` has `throughput`; known are `nox, 1 worker`, `beacon, simulated`",
        ),
        (
            "a\n{{median of nox, 1 worker at 79-X as Mrps}}",
            2,
            "has no `throughput` at `79-X`; known are `79-U`, `79-S`",
        ),
        (
            "{{median of beacon, simulated at 2..3 as Mrps}}",
            1,
            "at `2..3`; known are `1`, `4`, `7`",
        ),
        (
            "{{median delay of beacon, simulated as ms}}",
            1,
            "the metric `delay`; known are `throughput`, `deviation`",
        ),
        ("{{median of beacon, simulated as ms}}", 1, "`rps` cannot be told in `ms`"),
        (
            "{{middle of beacon, simulated as rps}}",
            1,
            "no statistic `middle`; known are least, median",
        ),
        ("{{median of beacon, simulated}}", 1, "it names no unit"),
        ("{{median beacon as rps}}", 1, "it has no ` of `"),
        ("{{range of beacon / least of beacon in %}}", 1, "a range cannot be divided"),
        ("{{least of beacon / least of beacon in ms}}", 1, "a quotient is in `%` or `times`"),
        ("{{median of null as rps to 9 digits}}", 1, "digits are 1 to 6"),
        ("a\n\nb {{median", 3, "`{{` has no `}}`"),
    ] {
        let refused = rendered(text).unwrap_err();
        assert!(refused.starts_with(&format!("line {line}: ")), "{text}: {refused}");
        assert!(refused.contains(why), "{text}: {refused}");
    }
}

#[test]
fn a_quotient_by_nothing_is_refused() {
    let mut points = points();
    points[0].value = 0.0;
    points.truncate(1);
    let text = "{{median of nox, 1 worker / median of nox, 1 worker as %}}";
    assert!(render(text, &points, "throughput").unwrap_err().contains("divides by 0"));
}

#[test]
fn a_bare_number_is_refused_with_its_line() {
    for (text, line, number) in [
        ("It serves 12 million.", 1, "12"),
        ("One\ntwo 0.3 ms", 2, "0.3"),
        ("{{median of\na as ms}}\nand 4 ms", 3, "4"),
        ("by some %", 1, "%"),
        ("is Half of it", 1, "Half"),
        ("figure 7 has 9", 1, "9"),
    ] {
        let refused = check(text).unwrap_err();
        assert!(
            refused.starts_with(&format!("line {line}: `{number}` is a bare number")),
            "{text}: {refused}"
        );
    }
    for text in [
        "As in figure 7 and table 2, figures 6, 7 and 8, of four workers: `-s 1347`.",
        "{{paper 50 %}} or {{set 79 switches}}",
    ] {
        assert_eq!(check(text), Ok(()), "{text}");
    }
}

#[test]
fn a_long_discussion_is_refused() {
    assert_eq!(check(&"word ".repeat(WORDS_MAX)), Ok(()));
    let refused = check(&"word ".repeat(WORDS_MAX + 1)).unwrap_err();
    assert!(refused.contains("151 words; accepted are 150"), "{refused}");
}
