//! The expressions of a discussion: `STATISTIC METRIC of SERIES at PLACE as UNIT`.

use std::collections::BTreeMap;

use crate::plot::{factor, quantile};
use crate::results::{Point, ValueOrigin, X};

/// Significant digits where an expression does not say how many.
const DIGITS: usize = 2;
const DIGITS_MAX: usize = 6;
/// How far from a place, as a part of it, a value may stand: measured rates differ a little.
const NEAR: f64 = 0.01;
/// Ends the name of a series that was simulated, as in the tables.
const SIMULATED: &str = ", simulated";
/// The most names that an error lists.
const KNOWN_MAX: usize = 40;
/// What an expression is.
const FORM: &str = "accepted are `STATISTIC [METRIC] of SERIES [at PLACE] as UNIT`, one such divided (` / `) by another, \
                    `in` for a number without its unit, `to N digits`, `paper …` and `set …`";

/// What stands between the braces.
pub(super) enum Number {
    /// What a paper says, or a plan sets, word for word.
    Word(String),
    /// One value, or one divided by another.
    Value(Quotient),
}

/// A value of the results, or one divided by another.
pub(super) struct Quotient {
    of: Term,
    by: Option<Term>,
    unit: String,
    /// Whether the unit stands behind the number.
    told: bool,
    /// Significant ones.
    digits: usize,
}

/// One value.
struct Term {
    statistic: Statistic,
    metric: Option<String>,
    series: Vec<String>,
    places: Vec<Place>,
}

/// How one value is made of several.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Statistic {
    Least,
    Median,
    Mean,
    Greatest,
    Farthest,
    Range,
    Share(u8),
}

const STATISTICS: &[(&str, Statistic)] = &[
    ("least", Statistic::Least),
    ("median", Statistic::Median),
    ("mean", Statistic::Mean),
    ("greatest", Statistic::Greatest),
    ("farthest", Statistic::Farthest),
    ("range", Statistic::Range),
    ("p5", Statistic::Share(5)),
    ("p25", Statistic::Share(25)),
    ("p75", Statistic::Share(75)),
    ("p95", Statistic::Share(95)),
];

/// Where a value stands.
enum Place {
    At(String),
    Between(f64, f64),
}

/// Reads an expression.
///
/// # Errors
/// What cannot be read, and what is accepted.
pub(super) fn read(text: &str) -> Result<Number, String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some(word) = text.strip_prefix("paper ").or_else(|| text.strip_prefix("set ")) {
        return Ok(Number::Word(word.to_owned()));
    }
    let (text, digits) = match text.rsplit_once(" to ") {
        Some((before, digits)) if digits.ends_with(" digits") => {
            let count = digits.trim_end_matches(" digits").parse().ok();
            let count = count.filter(|count| (1..=DIGITS_MAX).contains(count));
            (before, count.ok_or(format!("digits are 1 to {DIGITS_MAX}"))?)
        }
        _ => (&*text, DIGITS),
    };
    let unit = |word| text.rsplit_once(word).filter(|(_, unit)| !unit.contains(' '));
    let (terms, unit, told) = match (unit(" as "), unit(" in ")) {
        (Some((terms, unit)), _) => (terms, unit, true),
        (None, Some((terms, unit))) => (terms, unit, false),
        (None, None) => return Err(format!("it names no unit; {FORM}")),
    };
    let (of, by) = match terms.split_once(" / ") {
        Some((of, by)) => (term(of)?, Some(term(by)?)),
        None => (term(terms)?, None),
    };
    if by.is_some() && !matches!(unit, "%" | "times") {
        return Err(format!("a quotient is in `%` or `times`, not in `{unit}`"));
    }
    let ranges = |term: &Term| term.statistic == Statistic::Range;
    if by.as_ref().is_some_and(|by| ranges(&of) || ranges(by)) {
        return Err("a range cannot be divided".into());
    }
    Ok(Number::Value(Quotient { of, by, unit: unit.to_owned(), told, digits }))
}

fn term(text: &str) -> Result<Term, String> {
    let (what, of) = text.split_once(" of ").ok_or(format!("it has no ` of `; {FORM}"))?;
    let (word, metric) =
        what.split_once(' ').map_or((what, None), |(word, rest)| (word, Some(rest)));
    let known = STATISTICS.iter().find(|(name, _)| *name == word);
    let names = || STATISTICS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let statistic = known.ok_or_else(|| format!("no statistic `{word}`; known are {}", names()))?.1;
    let (series, places) = match of.split_once(" at ") {
        Some((series, places)) => (series, places.split("; ").map(place).collect()),
        None => (of, Vec::new()),
    };
    let series = series.split("; ").map(|name| name.trim().to_owned()).collect();
    Ok(Term { statistic, metric: metric.map(str::to_owned), series, places })
}

fn place(text: &str) -> Place {
    let ends = text.split_once("..").map(|(low, high)| (low.trim().parse(), high.trim().parse()));
    match ends {
        Some((Ok(low), Ok(high))) => Place::Between(low, high),
        _ => Place::At(text.trim().to_owned()),
    }
}

/// The text of an expression's value.
///
/// # Errors
/// Why it has none, and what is known.
pub(super) fn value(text: &str, points: &[Point], metric: &str) -> Result<String, String> {
    let quotient = match read(text)? {
        Number::Word(word) => return Ok(word),
        Number::Value(quotient) => quotient,
    };
    let Quotient { of, by, unit, told, digits } = quotient;
    let values = match by {
        None => of.values(points, metric, Some(&unit))?,
        Some(by) => {
            let (of, by) = (of.values(points, metric, None)?, by.values(points, metric, None)?);
            let scale = if unit == "%" { 100.0 } else { 1.0 };
            if by.contains(&0.0) {
                return Err("it divides by 0".into());
            }
            of.iter().zip(by).map(|(of, by)| of / by * scale).collect()
        }
    };
    let mut values: Vec<String> = values.into_iter().map(|value| rounded(value, digits)).collect();
    values.dedup();
    let text = values.join(" to ");
    let unit = match unit.as_str() {
        "Mrps" => "million requests/s",
        "krps" => "thousand requests/s",
        "rps" => "requests/s",
        unit => unit,
    };
    Ok(if told { format!("{text} {unit}") } else { text })
}

impl Term {
    /// One value, or the two ends of a range, in `unit` or in that of the first point.
    fn values(
        &self,
        points: &[Point],
        first: &str,
        unit: Option<&str>,
    ) -> Result<Vec<f64>, String> {
        let metric = self.metric.as_deref().unwrap_or(first);
        let own: Vec<&Point> = points.iter().filter(|point| point.metric == metric).collect();
        let Some(first) = own.first() else {
            let names = points.iter().map(|point| point.metric.clone());
            return Err(format!("no value has the metric `{metric}`; known are {}", known(names)));
        };
        let unit = unit.unwrap_or(&first.unit);
        let mut places: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for name in &self.series {
            for point in self.chosen(&own, name, metric)? {
                let times = factor(&point.unit, unit);
                let times = times.ok_or(format!("`{}` cannot be told in `{unit}`", point.unit))?;
                let key = format!("{}, {}", shown(point), point.x);
                places.entry(key).or_default().push(point.value * times);
            }
        }
        // At one place the repeats count, over several the median of each.
        let mut values: Vec<f64> = match places.len() {
            1 => places.into_values().flatten().collect(),
            _ => places.into_values().map(middle).collect(),
        };
        values.sort_by(f64::total_cmp);
        Ok(self.statistic.of(&values))
    }

    /// The points of a series at the places that are asked for.
    fn chosen<'a>(
        &self,
        own: &[&'a Point],
        name: &str,
        metric: &str,
    ) -> Result<Vec<&'a Point>, String> {
        let series: Vec<&Point> = own.iter().copied().filter(|point| is_of(point, name)).collect();
        if series.is_empty() {
            let names = known(own.iter().map(|point| shown(point)));
            return Err(format!("no series `{name}` has `{metric}`; known are {names}"));
        }
        if self.places.is_empty() {
            return Ok(series);
        }
        let mut chosen = Vec::new();
        for place in &self.places {
            let before = chosen.len();
            chosen.extend(series.iter().copied().filter(|point| place.holds(&point.x)));
            if chosen.len() == before {
                let places = known(series.iter().map(|point| point.x.to_string()));
                let place = place.name();
                return Err(format!("`{name}` has no `{metric}` at `{place}`; known are {places}"));
            }
        }
        Ok(chosen)
    }
}

impl Place {
    fn holds(&self, x: &X) -> bool {
        match (self, x) {
            (Place::At(name), X::Word(word)) => name == word,
            (Place::At(name), X::Number(number)) => {
                name.parse::<f64>().is_ok_and(|name| (name - number).abs() <= NEAR * number.abs())
            }
            (Place::Between(low, high), X::Number(number)) => (low..=high).contains(&number),
            (Place::Between(..), X::Word(_)) => false,
        }
    }

    fn name(&self) -> String {
        match self {
            Place::At(name) => name.clone(),
            Place::Between(low, high) => format!("{low}..{high}"),
        }
    }
}

impl Statistic {
    /// Of sorted values, at least one.
    fn of(self, values: &[f64]) -> Vec<f64> {
        let (least, greatest) = (values[0], values[values.len() - 1]);
        match self {
            Statistic::Least => vec![least],
            Statistic::Greatest => vec![greatest],
            Statistic::Farthest => vec![least.abs().max(greatest.abs())],
            Statistic::Range => vec![least, greatest],
            Statistic::Mean => vec![values.iter().sum::<f64>() / values.len() as f64],
            Statistic::Median => vec![middle(values.to_vec())],
            Statistic::Share(percent) => vec![quantile(values, f64::from(percent) / 100.0)],
        }
    }
}

/// Whether a point is of the series that is named as in the tables; `*` is all of them.
fn is_of(point: &Point, name: &str) -> bool {
    let (name, origin) = match name.strip_suffix(SIMULATED) {
        Some(name) => (name, ValueOrigin::Simulated),
        None => (name, ValueOrigin::Measured),
    };
    point.origin == origin && (name == "*" || point.series == name)
}

/// A series' name as the tables have it.
fn shown(point: &Point) -> String {
    match point.origin {
        ValueOrigin::Measured => point.series.clone(),
        ValueOrigin::Simulated => format!("{}{SIMULATED}", point.series),
    }
}

/// Names, each once.
fn known(names: impl Iterator<Item = String>) -> String {
    let mut once: Vec<String> = Vec::new();
    for name in names {
        if !once.contains(&name) {
            once.push(name);
        }
        if once.len() > KNOWN_MAX {
            break;
        }
    }
    let more = if once.len() > KNOWN_MAX { " and more" } else { "" };
    once.truncate(KNOWN_MAX);
    let names: Vec<String> = once.iter().map(|name| format!("`{name}`")).collect();
    format!("{}{more}", names.join(", "))
}

/// The median, the mean of the two in the middle where there are two.
fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    match values.len() % 2 {
        0 => values[half - 1].midpoint(values[half]),
        _ => values[half],
    }
}

/// A number with so many significant digits, all of those before the point, and thousands apart.
fn rounded(value: f64, digits: usize) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let size = value.abs().log10().floor() as i64;
    let behind = (digits as i64 - 1 - size).clamp(0, 9) as usize;
    let text = format!("{value:.behind$}");
    // 0.0996 with two digits is 0.10, and 9.96 is 10.
    let size = text.parse::<f64>().map_or(size, |value| value.abs().log10().floor() as i64);
    let behind = (digits as i64 - 1 - size).clamp(0, 9) as usize;
    let text = format!("{value:.behind$}");
    match text.parse::<i64>() {
        Ok(whole) if whole.abs() >= 10_000 => format!("{},{:03}", whole / 1000, whole.abs() % 1000),
        _ => text,
    }
}
