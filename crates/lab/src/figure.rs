//! What a plan says of its figures: the plots, and what the paper found, to be drawn beside what we
//! found.
//!
//! ```toml
//! [[plot]]
//! kind = "lines"
//! title = "Throughput over workers"
//! x = { label = "Workers" }
//! y = { metric = "throughput", label = "Throughput", unit = "rps" }
//! also = [{ metric = "probing-delay-mean", label = "Probing delay", unit = "ms", log = true }]
//! reference = { label = "ideal", slope = 1.0 }
//!
//! [[paper]]
//! series = "maestro-round-robin"
//! metric = "throughput"
//! unit = "rps"
//! values = [[1, 0.42e6], [7, 2.76e6]]
//! from = "table 2"
//! ```
//!
//! These are types for serde and their rules; the plan's parser knows the lines. Drawing is not
//! here.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::results::{NAME_BYTES_MAX, X};

/// The most plots of a plan.
pub const PLOTS_MAX: usize = 16;
/// The most entries of what a paper found.
pub const PAPERS_MAX: usize = 64;
/// The most values of one such entry.
pub const VALUES_MAX: usize = 512;
/// The most panels of one plot: further ones would not be seen together.
pub const PANELS_MAX: usize = 4;
/// The longest sentence, in bytes.
pub const SENTENCE_BYTES_MAX: usize = 600;

/// One plot of a plan: `[[plot]]`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plot {
    /// How it is drawn.
    pub kind: PlotKind,
    /// What it shows.
    pub title: String,
    /// The axis across. In a distribution it has the metric; elsewhere a point's own x is the place
    /// on it.
    #[serde(default)]
    pub x: FigureAxis,
    /// The axis upward; in a table the values in the cells. A distribution has none.
    #[serde(default)]
    pub y: FigureAxis,
    /// Further metrics of the same points: panels below that share the x axis, in a table further
    /// values in each cell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<FigureAxis>,
    /// A line to compare with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<Reference>,
    /// The series that are drawn, in this order; all of them in the order of the points where
    /// nothing is said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<String>,
}

/// How a plot is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlotKind {
    /// A line a series through the medians of its repeats, with their range.
    Lines,
    /// The distribution of a series' samples: what share of them is at most x.
    Cdf,
    /// A group of bars a category, a bar a series: the median of its repeats, with their range.
    Bars,
    /// Series down, x across: numbers only.
    Table,
    /// A line a series over seconds, without dots.
    Timeline,
}

/// An axis, or what stands in the cells of a table.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct FigureAxis {
    /// The metric of the points that are drawn along it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub metric: String,
    /// What is written beside it; the metric's name where nothing is said.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// The unit in which it is drawn; the points' own where nothing is said. Times and shares are
    /// converted.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// Equal distances are equal factors.
    pub log: bool,
    /// From where to where, in `unit`; as far as the values go where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
    /// Each series is drawn relative to its own value at this x, the paper's likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relative_to: Option<X>,
}

/// How far from 0 an axis reaches at most, in whatever unit.
pub const RANGE_MAX: f64 = 1e18;

/// From where to where: `[low, high]`, at most [`RANGE_MAX`] from 0, the second above the first.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(try_from = "Vec<f64>", into = "Vec<f64>")]
pub struct Range {
    /// Where the axis begins.
    pub low: f64,
    /// Where it ends.
    pub high: f64,
}

impl TryFrom<Vec<f64>> for Range {
    type Error = String;

    fn try_from(ends: Vec<f64>) -> Result<Self, String> {
        match ends[..] {
            [low, high] if low.abs().max(high.abs()) <= RANGE_MAX && low < high => {
                Ok(Range { low, high })
            }
            _ => Err("a range is `[low, high]`: two numbers, the second greater".into()),
        }
    }
}

impl From<Range> for Vec<f64> {
    fn from(Range { low, high }: Range) -> Self {
        vec![low, high]
    }
}

/// A line to compare with: `y = slope · x`, or a value: horizontal, vertical in a distribution.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// Its name in the legend.
    pub label: String,
    /// How much y a unit of x is, in the axes' units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slope: Option<f64>,
    /// The value that is met everywhere, in the unit of the axis that has the metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<f64>,
}

/// What a paper found: `[[paper]]`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Its system; the name of ours that stands for it, where there is one, so that they share a
    /// colour.
    pub series: String,
    /// What was measured.
    pub metric: String,
    /// The unit of `values`; that of the axis where nothing is said.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// The values: `[[x, value], …]` or `{ category = value, … }`; a category that comes twice lies
    /// between the two. In a distribution x is the value and the second the share, 0 to 1.
    #[serde(default, skip_serializing_if = "Values::is_empty")]
    pub values: Values,
    /// What the paper says in words where it gives no numbers: `every deviation is below 1 %`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
    /// The section, table or figure: `table 2`, `figure 12, read off the drawing`.
    pub from: String,
}

/// A paper's values.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged, expecting = "`[[x, value], …]` or `{ category = value, … }`")]
pub enum Values {
    /// In the paper's order.
    Pairs(Vec<(X, f64)>),
    /// By category.
    Words(BTreeMap<String, f64>),
}

impl Default for Values {
    fn default() -> Self {
        Values::Pairs(Vec::new())
    }
}

impl Values {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.pairs().is_empty()
    }

    /// Each value with its place.
    pub fn pairs(&self) -> Vec<(X, f64)> {
        match self {
            Values::Pairs(pairs) => pairs.clone(),
            Values::Words(words) => {
                words.iter().map(|(word, value)| (X::Word(word.clone()), *value)).collect()
            }
        }
    }
}

impl Plot {
    /// The axes that have a metric: a panel or a value in a cell each.
    pub fn metrics(&self) -> impl Iterator<Item = &FigureAxis> {
        let first = if self.kind == PlotKind::Cdf { &self.x } else { &self.y };
        std::iter::once(first).chain(&self.also)
    }

    /// Whether it can be drawn.
    ///
    /// # Errors
    /// A sentence that says which key cannot stay and why.
    pub fn check(&self) -> Result<(), String> {
        name("title", &self.title, SENTENCE_BYTES_MAX)?;
        let (first, other) = if self.kind == PlotKind::Cdf { ("x", "y") } else { ("y", "x") };
        let idle = if self.kind == PlotKind::Cdf { &self.y } else { &self.x };
        if self.metrics().any(|axis| axis.metric.is_empty()) {
            return Err(format!(
                "`{first}.metric`, and `metric` of each in `also`, has to say what is drawn"
            ));
        }
        if !idle.metric.is_empty() || idle.relative_to.is_some() {
            return Err(format!(
                "`{other}` takes no `metric` and no `relative-to` where `{first}` has the metric"
            ));
        }
        if self.kind == PlotKind::Cdf && !self.also.is_empty() {
            return Err("a distribution has one metric: `also` belongs to another [[plot]]".into());
        }
        if self.kind == PlotKind::Cdf && self.x.relative_to.is_some() {
            return Err("a distribution has no `relative-to`: its x is the value itself".into());
        }
        if self.also.len() >= PANELS_MAX {
            return Err(format!("`also` has {}; accepted are {}", self.also.len(), PANELS_MAX - 1));
        }
        for axis in self.metrics().chain([idle]) {
            axis.check()?;
        }
        self.reference.as_ref().map_or(Ok(()), |reference| reference.check(self.kind))?;
        self.series.iter().try_for_each(|series| name("series", series, NAME_BYTES_MAX))
    }
}

impl FigureAxis {
    /// What is written beside it.
    pub fn label(&self) -> &str {
        if self.label.is_empty() { &self.metric } else { &self.label }
    }

    fn check(&self) -> Result<(), String> {
        for (key, text) in [("metric", &self.metric), ("label", &self.label), ("unit", &self.unit)]
        {
            if !text.is_empty() {
                name(key, text, NAME_BYTES_MAX)?;
            }
        }
        match self.range {
            Some(Range { low, .. }) if self.log && low < 1.0 / RANGE_MAX => {
                Err(format!("`range` begins at {low} with `log`: it has to begin above 0"))
            }
            _ => Ok(()),
        }
    }
}

impl Reference {
    fn check(&self, kind: PlotKind) -> Result<(), String> {
        name("reference.label", &self.label, NAME_BYTES_MAX)?;
        if matches!(kind, PlotKind::Table) {
            return Err("a table has no `reference`".into());
        }
        match (self.slope, self.at) {
            (Some(_), None) if matches!(kind, PlotKind::Cdf | PlotKind::Bars) => {
                Err("`reference.slope` needs numbers along x: lines and timelines have them".into())
            }
            (Some(value), None) | (None, Some(value)) if value.is_finite() => Ok(()),
            (Some(_), None) | (None, Some(_)) => {
                Err("`reference` has to be a finite number".into())
            }
            _ => Err("`reference` has either `slope` or `at`".into()),
        }
    }
}

impl Paper {
    /// Whether it can be drawn.
    ///
    /// # Errors
    /// A sentence that says which key cannot stay and why.
    pub fn check(&self) -> Result<(), String> {
        for (key, text) in
            [("series", &self.series), ("metric", &self.metric), ("from", &self.from)]
        {
            name(key, text, NAME_BYTES_MAX)?;
        }
        if let Some(says) = &self.says {
            name("says", says, SENTENCE_BYTES_MAX)?;
        }
        let values = self.values.pairs();
        if values.is_empty() && self.says.is_none() {
            return Err("either `values` or `says` has to say what the paper found".into());
        }
        if values.len() > VALUES_MAX {
            return Err(format!("{} values; accepted are {VALUES_MAX}", values.len()));
        }
        let mut seen = BTreeSet::new();
        for (x, value) in &values {
            match x {
                X::Word(word) => name("a category of `values`", word, NAME_BYTES_MAX)?,
                X::Number(number) if !number.is_finite() => {
                    return Err(format!("`values` has {number} for a place on an axis"));
                }
                X::Number(_) => (),
            }
            if !value.is_finite() {
                return Err(format!("`values` has {value} at {x}"));
            }
            if !seen.insert((x.to_string(), value.to_bits())) {
                return Err(format!("`values` says {x} = {value} twice"));
            }
        }
        Ok(())
    }
}

/// Designs of ours, what they are called beside a paper's system, and that system.
const DESIGNS: &[(&str, &str, &str)] = &[
    ("fair-rounds", "Aldis's fair rounds", "Aldis's fair rounds"),
    ("maestro-round-robin", "Maestro's round robin in Aldis", "Maestro's round robin"),
    (
        "maestro-dynamic-partition",
        "Maestro's dynamic partition in Aldis",
        "Maestro's dynamic partition",
    ),
    (
        "maestro-static-partition",
        "Maestro's static partition in Aldis",
        "Maestro's static partition",
    ),
    ("maestro-shared-queue", "Maestro's shared queue in Aldis", "Maestro's shared queue"),
    ("maestro-plain", "plain Maestro in Aldis", "plain Maestro"),
    ("beacon", "Beacon's design in Aldis", "Beacon"),
    ("beacon-queue", "Beacon Queue in Aldis", "Beacon Queue"),
    ("beacon-queue-per-switch", "Beacon's queue per switch in Aldis", "Beacon's queue per switch"),
    (
        "beacon-queue-priorities",
        "Beacon's queues by priority in Aldis",
        "Beacon's queues by priority",
    ),
    ("beacon-immediate", "Beacon Immediate in Aldis", "Beacon Immediate"),
    ("nox", "NOX's design in Aldis", "NOX"),
    ("null", "the null controller", "the null controller"),
];

/// What a series or a subject is called on a page: `nox, 7 workers` is `NOX's design in Aldis, 7
/// workers`, and a paper's own `NOX, 7 workers`. Other names stay as they are.
pub fn called(name: &str, by_paper: bool) -> String {
    let (design, rest) = name.find(", ").map_or((name, ""), |at| name.split_at(at));
    match DESIGNS.iter().find(|(known, ..)| *known == design) {
        Some((_, _, paper)) if by_paper => format!("{paper}{rest}"),
        Some((_, ours, _)) => format!("{ours}{rest}"),
        None => name.to_owned(),
    }
}

/// Checks all plots and all that the papers found, together.
///
/// # Errors
/// Which entry, from 1, cannot stay and why.
pub fn check(plots: &[Plot], papers: &[Paper]) -> Result<(), String> {
    if plots.len() > PLOTS_MAX || papers.len() > PAPERS_MAX {
        return Err(format!("accepted are up to {PLOTS_MAX} [[plot]] and {PAPERS_MAX} [[paper]]"));
    }
    for (at, plot) in plots.iter().enumerate() {
        plot.check().map_err(|why| format!("[[plot]] {}: {why}", at + 1))?;
    }
    for (at, paper) in papers.iter().enumerate() {
        let of = |why| format!("[[paper]] {} ({}): {why}", at + 1, paper.series);
        paper.check().map_err(of)?;
        let mut metrics = plots.iter().flat_map(Plot::metrics);
        if !metrics.any(|axis| axis.metric == paper.metric) {
            return Err(of(format!("no plot draws the metric `{}`", paper.metric)));
        }
    }
    Ok(())
}

fn name(key: &str, text: &str, most: usize) -> Result<(), String> {
    if text.trim().is_empty() {
        return Err(format!("{key} is empty"));
    }
    if text.len() > most {
        return Err(format!("{key} is longer than {most} bytes"));
    }
    match text.chars().any(char::is_control) {
        true => Err(format!("{key} holds a line break or another control character")),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct FigurePlan {
        #[serde(default)]
        plot: Vec<Plot>,
        #[serde(default)]
        paper: Vec<Paper>,
    }

    fn parse(text: &str) -> Result<FigurePlan, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    fn checked(text: &str) -> Result<(), String> {
        parse(text).and_then(|plan| check(&plan.plot, &plan.paper))
    }

    const LINES: &str = r#"
[[plot]]
kind = "lines"
title = "Throughput over workers"
x = { label = "Workers", range = [1, 7] }
y = { metric = "throughput", label = "Throughput", unit = "rps", relative-to = 1 }
also = [{ metric = "delay", unit = "ms", log = true }]
reference = { label = "ideal", slope = 1.0 }
series = ["maestro-round-robin", "beacon"]
"#;

    #[test]
    fn the_keys_mean_what_the_plans_say() {
        let papers = r#"
[[paper]]
series = "beacon"
metric = "throughput"
values = [[1, 1], ["7", 6.5]]
from = "figure 12"
[[paper]]
series = "nox"
metric = "delay"
unit = "us"
values = { "79-uniform" = 2, "1347-skewed" = 2.5 }
says = "grows with the number of switches"
from = "figure 15"
"#;
        let plan = parse(&[LINES, papers].concat()).unwrap();
        check(&plan.plot, &plan.paper).unwrap();
        let [plot] = plan.plot.as_slice() else { panic!("one plot") };
        assert_eq!(plot.x.range, Some(Range { low: 1.0, high: 7.0 }));
        assert_eq!(plot.y.relative_to, Some(X::Number(1.0)));
        let metrics: Vec<_> = plot.metrics().map(FigureAxis::label).collect();
        assert_eq!(metrics, ["Throughput", "delay"]);
        let values = plan.paper[0].values.pairs();
        assert_eq!(values, [(X::Number(1.0), 1.0), (X::Word("7".into()), 6.5)]);
        assert_eq!(plan.paper[1].values.pairs()[1], (X::Word("79-uniform".into()), 2.0));
        let again: Plot = toml::from_str(&toml::to_string(plot).unwrap()).unwrap();
        assert_eq!(again, *plot);
    }

    #[test]
    fn a_design_of_ours_is_not_called_by_the_name_of_a_papers_system_alone() {
        for (name, ours, paper) in [
            ("nox, 7 workers", "NOX's design in Aldis, 7 workers", "NOX, 7 workers"),
            ("beacon", "Beacon's design in Aldis", "Beacon"),
            ("beacon-queue", "Beacon Queue in Aldis", "Beacon Queue"),
            ("output batching", "output batching", "output batching"),
            ("Ryu", "Ryu", "Ryu"),
        ] {
            assert_eq!((called(name, false).as_str(), called(name, true).as_str()), (ours, paper));
        }
    }

    #[test]
    fn a_distribution_has_its_metric_across() {
        let cdf = "[[plot]]\nkind = \"cdf\"\ntitle = \"Fairness\"\nx = { metric = \"deviation\", unit = \"%\" }\n";
        checked(cdf).unwrap();
        assert!(
            checked(&format!("{cdf}y = {{ metric = \"share\" }}\n"))
                .unwrap_err()
                .contains("`y` takes no `metric`")
        );
        let slope = format!("{cdf}reference = {{ label = \"ideal\", slope = 1 }}\n");
        assert!(checked(&slope).unwrap_err().contains("needs numbers along x"));
        let also = format!("{cdf}also = [{{ metric = \"delay\" }}]\n");
        assert!(checked(&also).unwrap_err().contains("one metric"));
    }

    #[test]
    fn what_cannot_be_drawn_is_refused_with_a_reason() {
        for (from, to, why) in [
            ("kind = \"lines\"", "kind = \"pie\"", "unknown variant `pie`"),
            ("title =", "name =", "unknown field `name`"),
            ("Throughput over workers", "", "[[plot]] 1: title is empty"),
            ("Throughput over workers", "two\\nlines", "a line break"),
            ("metric = \"throughput\", ", "", "`y.metric`, and `metric` of each in `also`"),
            ("[1, 7]", "[7, 1]", "two numbers, the second greater"),
            ("[1, 7]", "[nan, 1]", "two numbers, the second greater"),
            ("[1, 7]", "[0, 7], log = true", "it has to begin above 0"),
            ("[1, 7]", "[1, 7, 9]", "two numbers, the second greater"),
            ("slope = 1.0", "slope = 1.0, at = 2", "either `slope` or `at`"),
            ("slope = 1.0", "at = inf", "a finite number"),
            ("kind = \"lines\"", "kind = \"table\"", "a table has no `reference`"),
            ("relative-to", "relative_to", "unknown field `relative_to`"),
            ("\"beacon\"", "\"\"", "series is empty"),
        ] {
            let text = LINES.replace(from, to);
            assert_ne!(text, LINES, "{from} was not found");
            let refused = checked(&text).unwrap_err();
            assert!(refused.contains(why), "{to}: {refused}");
        }
    }

    #[test]
    fn a_paper_has_to_say_something_that_is_drawn() {
        let entry =
            |rest: &str| format!("{LINES}[[paper]]\nseries = \"nox\"\nfrom = \"table 2\"\n{rest}");
        for (rest, why) in [
            ("metric = \"throughput\"", "[[paper]] 1 (nox): either `values` or `says`"),
            (
                "metric = \"deviation\"\nsays = \"below 1 %\"",
                "no plot draws the metric `deviation`",
            ),
            ("metric = \"delay\"\nvalues = [[1, 2], [1, 2]]", "says 1 = 2 twice"),
            ("metric = \"delay\"\nvalues = [[1, inf]]", "has inf at 1"),
            ("metric = \"delay\"\nvalues = [[nan, 1]]", "for a place on an axis"),
            ("metric = \"delay\"\nvalues = 3", "`[[x, value], …]` or `{ category = value, … }`"),
            (
                "metric = \"delay\"\nvalues = [1, 2]",
                "`[[x, value], …]` or `{ category = value, … }`",
            ),
        ] {
            let refused = checked(&entry(rest)).unwrap_err();
            assert!(refused.contains(why), "{rest}: {refused}");
        }
        checked(&entry("metric = \"delay\"\nsays = \"below 3 ms\"")).unwrap();
    }
}
