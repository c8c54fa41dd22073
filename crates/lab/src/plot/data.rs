//! What a plot draws: the points of each series gathered by place, in the axis' unit, and the
//! paper's beside them.

use std::collections::BTreeMap;

use super::canvas::COLOURS;
use super::unit;
use crate::figure::{FigureAxis, Paper, Plot, PlotKind};
use crate::results::{Point, ValueMark, ValueOrigin, X};

/// More places or samples than this are gathered in groups: more than there are pixels.
const SPOTS_MAX: usize = 800;

/// A plot with its values.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    /// What the plan says of it.
    pub plot: Plot,
    /// One a metric.
    pub panels: Vec<Panel>,
    /// The categories along x in their order; nothing where x is a number.
    pub words: Option<Vec<String>>,
    /// What was left out and why, a sentence each.
    pub left_out: Vec<String>,
}

/// The values of one metric.
#[derive(Clone, PartialEq, Debug)]
pub struct Panel {
    /// What the plan says of its axis.
    pub axis: FigureAxis,
    /// The unit of all values.
    pub unit: String,
    /// A line, or bars, each; one name may come several times, in different roles.
    pub series: Vec<Series>,
}

/// One line, or the bars of one colour.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    /// The legend's name.
    pub name: String,
    /// The colour: its place among all names of the experiment, or of the figure where those of the
    /// experiment are more than there are colours.
    pub colour: usize,
    /// Whose values these are.
    pub role: SeriesRole,
    /// The values by place; in a paper's distribution x is the value and `median` the share.
    pub spots: Vec<DataSpot>,
    /// All values, sorted: the distribution. Empty for a paper's.
    pub samples: Vec<f64>,
    /// At least one of them was measured while the generator was at its limit.
    pub limited: bool,
    /// Where the paper says it.
    pub from: Option<String>,
}

/// Whose values these are, and so how they are drawn.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SeriesRole {
    /// Measured here: a solid line, filled dots.
    Measured,
    /// Simulated here: dashes, hollow dots.
    Simulated,
    /// The paper's: crosses.
    Paper,
}

/// All repeats at one place.
#[derive(Clone, PartialEq, Debug)]
pub struct DataSpot {
    /// Where.
    pub x: X,
    /// The median of the repeats; of a paper's range its middle.
    pub median: f64,
    /// The least.
    pub low: f64,
    /// The greatest.
    pub high: f64,
    /// How many.
    pub repeats: usize,
    /// At least one was measured while the generator was at its limit.
    pub limited: bool,
}

impl DataSpot {
    /// Whether a paper says no more than between what two values it lies.
    pub fn is_range(&self) -> bool {
        self.repeats == 1 && self.low < self.high
    }

    /// Makes a range of a paper's value and another one.
    fn reach(&mut self, other: &DataSpot) {
        (self.low, self.high) = (self.low.min(other.low), self.high.max(other.high));
        self.median = self.low.midpoint(self.high);
    }
}

/// The names of all series of an experiment in their order: the points', then the papers'. The
/// place is the colour.
pub fn names(points: &[Point], papers: &[Paper]) -> Vec<String> {
    let mut names = Vec::new();
    let ours = points.iter().map(|point| &point.series);
    for name in ours.chain(papers.iter().map(|paper| &paper.series)) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

impl Figure {
    /// Gathers what `plot` draws of `points` and `papers`.
    pub fn new(plot: &Plot, points: &[Point], papers: &[Paper]) -> Figure {
        let all = names(points, papers);
        let shown = if plot.series.is_empty() { &all } else { &plot.series };
        let mut gather = Gather { plot, points, papers, all: &all, shown, left_out: Vec::new() };
        let mut panels: Vec<Panel> = plot.metrics().map(|axis| gather.panel(axis)).collect();
        // What only the papers have is compared with nothing.
        if panels
            .iter()
            .flat_map(|panel| &panel.series)
            .all(|series| series.role == SeriesRole::Paper)
        {
            panels.iter_mut().for_each(|panel| panel.series.clear());
        }
        let left_out = gather.left_out;
        let words = words(plot.kind, &panels);
        let mut figure = Figure { plot: plot.clone(), panels, words, left_out };
        figure.order();
        figure
    }

    /// Whether there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        self.panels.iter().all(|panel| panel.series.is_empty())
    }

    /// The names that are drawn with their colours, in the legend's order.
    pub fn legend(&self) -> Vec<(String, usize)> {
        let mut names: Vec<(String, usize)> = Vec::new();
        for series in self.panels.iter().flat_map(|panel| &panel.series) {
            if !names.iter().any(|(name, _)| *name == series.name) {
                names.push((series.name.clone(), series.colour));
            }
        }
        names
    }

    /// Sorts each series along x.
    fn order(&mut self) {
        let words = self.words.as_deref().unwrap_or_default();
        let place = |x: &X| match x {
            X::Number(number) if words.is_empty() => *number,
            x => words.iter().position(|word| *word == x.to_string()).unwrap_or(0) as f64,
        };
        for series in self.panels.iter_mut().flat_map(|panel| &mut panel.series) {
            series.spots.sort_by(|a, b| place(&a.x).total_cmp(&place(&b.x)));
            if self.words.is_none() {
                series.spots = thinned(std::mem::take(&mut series.spots));
            }
        }
    }
}

/// The categories in the order in which they first come, ours before the papers'.
fn words(kind: PlotKind, panels: &[Panel]) -> Option<Vec<String>> {
    if kind == PlotKind::Cdf {
        return None;
    }
    let mut series: Vec<&Series> = panels.iter().flat_map(|panel| &panel.series).collect();
    series.sort_by_key(|series| series.role == SeriesRole::Paper);
    let spots = || series.iter().flat_map(|series| &series.spots);
    if kind != PlotKind::Bars
        && kind != PlotKind::Table
        && spots().all(|spot| matches!(spot.x, X::Number(_)))
    {
        return None;
    }
    let mut words: Vec<String> = Vec::new();
    let mut places: Vec<&X> = spots().map(|spot| &spot.x).collect();
    if places.iter().all(|x| matches!(x, X::Number(_))) {
        places.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    }
    for word in places.into_iter().map(X::to_string) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    Some(words)
}

/// Neighbours together where there are more than can be seen: their median, from their least to
/// their greatest.
fn thinned(spots: Vec<DataSpot>) -> Vec<DataSpot> {
    let group = spots.len().div_ceil(SPOTS_MAX);
    if group <= 1 {
        return spots;
    }
    let together = |spots: &[DataSpot]| {
        let mut medians: Vec<f64> = spots.iter().map(|spot| spot.median).collect();
        let spread = |pick: fn(f64, f64) -> f64, of: fn(&DataSpot) -> f64| {
            spots.iter().map(of).reduce(pick).unwrap_or(0.0)
        };
        DataSpot {
            x: spots[spots.len() / 2].x.clone(),
            median: median(&mut medians),
            low: spread(f64::min, |spot| spot.low),
            high: spread(f64::max, |spot| spot.high),
            repeats: spots.iter().map(|spot| spot.repeats).max().unwrap_or(0),
            limited: spots.iter().any(|spot| spot.limited),
        }
    };
    spots.chunks(group).map(together).collect()
}

/// What one plot gathers.
struct Gather<'a> {
    plot: &'a Plot,
    points: &'a [Point],
    papers: &'a [Paper],
    all: &'a [String],
    shown: &'a [String],
    left_out: Vec<String>,
}

impl Gather<'_> {
    fn panel(&mut self, axis: &FigureAxis) -> Panel {
        let drawn =
            |point: &&Point| point.metric == axis.metric && self.shown.contains(&point.series);
        let points: Vec<&Point> = self.points.iter().filter(drawn).collect();
        let papers = self.papers.iter().filter(|paper| paper.metric == axis.metric);
        let first = points.first().map(|point| &point.unit);
        let first =
            first.or_else(|| papers.clone().map(|paper| &paper.unit).find(|unit| !unit.is_empty()));
        let given = Some(&axis.unit).filter(|unit| !unit.is_empty());
        let unit = given.or(first).cloned().unwrap_or_default();
        let mut series = Vec::new();
        for name in self.shown {
            let among = if self.all.len() > COLOURS { self.shown } else { self.all };
            let colour = among.iter().position(|other| other == name).unwrap_or(among.len());
            for (origin, role) in [
                (ValueOrigin::Measured, SeriesRole::Measured),
                (ValueOrigin::Simulated, SeriesRole::Simulated),
            ] {
                let own =
                    points.iter().filter(|point| point.series == *name && point.origin == origin);
                let own: Vec<&Point> = own.copied().collect();
                series.extend(self.ours(&own, &unit).map(|(spots, samples)| Series {
                    name: name.clone(),
                    colour,
                    role,
                    spots,
                    samples,
                    limited: own.iter().any(|point| point.mark == ValueMark::GeneratorLimited),
                    from: None,
                }));
            }
            for paper in papers.clone().filter(|paper| paper.series == *name) {
                let spots = self.paper(paper, &unit);
                let from = Some(paper.from.clone());
                series.extend(spots.map(|spots| Series {
                    name: name.clone(),
                    colour,
                    role: SeriesRole::Paper,
                    spots,
                    samples: Vec::new(),
                    limited: false,
                    from,
                }));
            }
        }
        let unit = match &axis.relative_to {
            Some(x) => {
                let bases = bases(&series, x);
                series.retain_mut(|series| self.relate(series, x, &bases));
                String::new()
            }
            None => unit,
        };
        Panel { axis: axis.clone(), unit, series }
    }

    /// The spots and samples of one series, if it has any.
    fn ours(&mut self, points: &[&Point], unit: &str) -> Option<(Vec<DataSpot>, Vec<f64>)> {
        let mut places: Vec<SeriesPlace> = Vec::new();
        let mut found: BTreeMap<String, usize> = BTreeMap::new();
        let mut samples = Vec::new();
        for point in points {
            let Some(factor) = unit::factor(&point.unit, unit) else {
                self.leave_out(&point.series, &point.unit, unit);
                continue;
            };
            let value = point.value * factor;
            samples.push(value);
            let limited = point.mark == ValueMark::GeneratorLimited;
            // A distribution's x is no more than the sample's number.
            if self.plot.kind == PlotKind::Cdf {
                continue;
            }
            let at = found.get(&point.x.to_string()).copied().filter(|&at| places[at].lacks(point));
            let near = || {
                let is_near = |place: &SeriesPlace| place.lacks(point) && place.is_near(point);
                let few = places.len() <= NEAR_AMONG_MAX;
                few.then(|| places.iter().position(is_near)).flatten()
            };
            let at = at.or_else(near).unwrap_or(places.len());
            if at == places.len() {
                found.insert(point.x.to_string(), at);
                places.push(SeriesPlace {
                    x: point.x.clone(),
                    values: Vec::new(),
                    repeats: Vec::new(),
                    limited: false,
                });
            }
            places[at].values.push(value);
            places[at].repeats.push(point.repeat);
            places[at].limited |= limited;
        }
        samples.sort_by(f64::total_cmp);
        let spots = places.into_iter().map(|SeriesPlace { x, mut values, limited, .. }| DataSpot {
            x,
            median: median(&mut values),
            low: values[0],
            high: values[values.len() - 1],
            repeats: values.len(),
            limited,
        });
        (!samples.is_empty()).then(|| (spots.collect(), samples))
    }

    /// A paper's spots, if they can be drawn here.
    fn paper(&mut self, paper: &Paper, unit: &str) -> Option<Vec<DataSpot>> {
        let own = if paper.unit.is_empty() { unit } else { &paper.unit };
        let Some(factor) = unit::factor(own, unit) else {
            self.leave_out(&format!("the paper's {}", paper.series), own, unit);
            return None;
        };
        let spots = paper.values.pairs().into_iter().map(|(x, value)| {
            let (x, value) = match (self.plot.kind, x) {
                // The value is across, and the share has no unit.
                (PlotKind::Cdf, X::Number(x)) => (X::Number(x * factor), value),
                (_, x) => (x, value * factor),
            };
            DataSpot { x, median: value, low: value, high: value, repeats: 1, limited: false }
        });
        let mut together: Vec<DataSpot> = Vec::new();
        for spot in spots {
            let is_here = |other: &&mut DataSpot| matches!(spot.x, X::Word(_)) && other.x == spot.x;
            match together.iter_mut().find(is_here) {
                Some(range) => range.reach(&spot),
                None => together.push(spot),
            }
        }
        (!together.is_empty()).then_some(together)
    }

    /// Divides a series by its own value at `x`; what was simulated by what was measured, where it
    /// has none of its own. Whether there is one.
    fn relate(&mut self, series: &mut Series, x: &X, bases: &[(String, SeriesRole, f64)]) -> bool {
        let of = |role| {
            let base = bases.iter().find(|(name, of, _)| *name == series.name && *of == role);
            base.map(|(.., base)| *base)
        };
        let borrowed = || of(SeriesRole::Measured).filter(|_| series.role == SeriesRole::Simulated);
        let Some(base) = of(series.role).or_else(borrowed) else {
            let whose = if series.role == SeriesRole::Paper { "the paper's " } else { "" };
            let name = &series.name;
            self.say(format!(
                "{whose}{name} has no value at {x} that the others could be related to"
            ));
            return false;
        };
        for spot in &mut series.spots {
            spot.median /= base;
            spot.low /= base;
            spot.high /= base;
        }
        series.samples.iter_mut().for_each(|sample| *sample /= base);
        true
    }

    fn leave_out(&mut self, series: &str, from: &str, to: &str) {
        self.say(format!("{series} has values in `{from}`, which cannot be drawn in `{to}`"));
    }

    fn say(&mut self, sentence: String) {
        if !self.left_out.contains(&sentence) {
            self.left_out.push(sentence);
        }
    }
}

/// The value at `x` of each series that has one above 0.
fn bases(series: &[Series], x: &X) -> Vec<(String, SeriesRole, f64)> {
    let base = |series: &Series| {
        let at = series.spots.iter().find(|spot| spot.x == *x)?;
        (at.median > 0.0).then(|| (series.name.clone(), series.role, at.median))
    };
    series.iter().filter_map(base).collect()
}

/// How far apart, as a part of them, two numbers are one place: a rate that is a part of the
/// capacity differs a little from repeat to repeat.
const NEAR: f64 = 0.01;

/// In series with more places than this no near one is looked for: what is swept has tens of them.
const NEAR_AMONG_MAX: usize = 256;

/// The repeats at one place of a series: one value of each. A line that rises at once has two
/// places with the same x.
struct SeriesPlace {
    x: X,
    values: Vec<f64>,
    repeats: Vec<u32>,
    limited: bool,
}

impl SeriesPlace {
    /// Whether the point's repeat has no value here yet.
    fn lacks(&self, point: &Point) -> bool {
        !self.repeats.contains(&point.repeat)
    }

    fn is_near(&self, point: &Point) -> bool {
        match (&self.x, &point.x) {
            (X::Number(here), X::Number(there)) => (here - there).abs() <= NEAR * here.abs(),
            _ => false,
        }
    }
}

/// The median, the mean of the two in the middle where there are two. Sorts.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        0 => values[middle - 1].midpoint(values[middle]),
        _ => values[middle],
    }
}

/// The value that a share of sorted samples does not exceed: the least with at least that share at
/// or below it.
pub fn quantile(samples: &[f64], share: f64) -> f64 {
    let rank = (share * samples.len() as f64).ceil() as usize;
    samples[rank.clamp(1, samples.len()) - 1]
}
