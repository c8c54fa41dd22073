//! The numbers of a figure as tables: ours, and the paper's in the row below.

use crate::figure::{PlotKind, called};
use crate::plot::{self, DataSpot, Figure, Panel, Series, SeriesRole, quantile};
use crate::results::X;

/// The most columns of values: more do not fit beside each other.
const COLUMNS_MAX: usize = 9;
/// The most rows of values: more are told by their ends and their middle.
const ROWS_MAX: usize = 40;

/// The shares of samples whose greatest value is told.
const SHARES: [(f64, &str); 7] = [
    (0.0, "least"),
    (0.05, "5 %"),
    (0.25, "25 %"),
    (0.5, "median"),
    (0.75, "75 %"),
    (0.95, "95 %"),
    (1.0, "greatest"),
];

/// How far from a share a paper's may lie to stand in its column.
const NEAR: f64 = 0.005;

/// Numbers in rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ReportTable {
    pub title: String,
    pub head: Vec<String>,
    pub rows: Vec<TableRow>,
    /// What the signs in the cells mean.
    pub notes: Vec<String>,
}

/// One row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct TableRow {
    pub cells: Vec<String>,
    /// Whose values they are; empty where a row is a place.
    pub series: String,
    /// Where a paper says them; nothing where they are ours.
    pub paper: Option<String>,
}

impl TableRow {
    /// A series with one value or another; a mark, if it has one, stands with the values.
    fn of(series: &Series, values: impl IntoIterator<Item = String>) -> TableRow {
        let cells = std::iter::once(name(series)).chain(values).collect();
        let from = || series.from.clone().unwrap_or_default();
        let paper = (series.role == SeriesRole::Paper).then(from);
        TableRow { cells, series: series.name.clone(), paper }
    }

    /// A series whose values are of many samples or places together; the mark of any stands with
    /// its name.
    fn of_many(series: &Series, values: impl IntoIterator<Item = String>) -> TableRow {
        let mut row = TableRow::of(series, values);
        row.cells[0].extend(series.limited.then_some(LIMITED));
        row
    }
}

/// The tables of each figure of an experiment, one a metric that has values. Numbers that stand in
/// an earlier table, perhaps in another unit, are not told again.
pub(super) fn tables(figures: &[Figure]) -> Vec<Vec<ReportTable>> {
    let mut told = Vec::new();
    let mut new = |figure: &Figure| {
        let panels = figure.panels.iter().filter(|panel| !panel.series.is_empty());
        let tables = panels.filter_map(|panel| {
            let table = table(figure, panel);
            let rows = table.rows.iter().map(|row| row.cells[0].clone());
            let numbers = (
                [&figure.plot.x.metric, &panel.axis.metric].map(String::clone),
                panel.axis.relative_to.as_ref().map(X::to_string),
                table.head[1..].to_vec(),
                rows.collect::<Vec<String>>(),
            );
            let is_new = !told.contains(&numbers);
            told.push(numbers);
            is_new.then_some(table)
        });
        tables.collect()
    };
    figures.iter().map(&mut new).collect()
}

fn table(figure: &Figure, panel: &Panel) -> ReportTable {
    let places = places(figure, panel);
    let mut table = match figure.plot.kind {
        PlotKind::Cdf => distribution(panel),
        _ if places.len() <= COLUMNS_MAX && !is_alone(panel) => across(panel, &places),
        _ if places.len() <= ROWS_MAX && panel.series.len() <= COLUMNS_MAX => down(panel, &places),
        _ => ends(panel),
    };
    table.title = match (&panel.axis.relative_to, panel.unit.as_str()) {
        // What the label says already is not said twice.
        (Some(_), _) if panel.axis.label().contains("relative to") => panel.axis.label().to_owned(),
        (Some(x), _) => format!("{}, relative to {x}", panel.axis.label()),
        (None, "") => panel.axis.label().to_owned(),
        (None, unit) => format!("{} ({unit})", panel.axis.label()),
    };
    let label = figure.plot.x.label();
    if figure.plot.kind != PlotKind::Cdf && places.len() <= ROWS_MAX && !label.is_empty() {
        table.head[0] = label.to_owned();
    }
    if panel.series.iter().any(|series| series.limited) {
        table.notes.push(format!("{LIMITED} generator-limited"));
    }
    let mut spots = panel.series.iter().flat_map(|series| &series.spots);
    if spots.any(|spot| spot.repeats > 1) {
        table
            .notes
            .push("the median of the repeats, in brackets the least and the greatest".into());
    }
    table
}

/// Whether there is one series, with the paper's values perhaps: its places are rows then, however
/// few they are, as they are where another metric of the same plot has more of them.
fn is_alone(panel: &Panel) -> bool {
    let mut names = panel.series.iter().map(|series| &series.name);
    let first = names.next();
    names.all(|name| Some(name) == first)
}

const LIMITED: char = '†';

/// A row or a column: what is written of it, and where it is.
struct Heading {
    label: String,
    /// The places that are written so, of different series: rates that are measured differ a
    /// little.
    xs: Vec<X>,
}

impl Heading {
    /// What a series has there: of a step, which has two values, what holds from there on.
    fn of<'a>(&self, series: &'a Series) -> Option<&'a DataSpot> {
        let is_here =
            |spot: &&DataSpot| self.xs.iter().any(|x| x.to_string() == spot.x.to_string());
        series.spots.iter().rfind(is_here)
    }
}

/// The places of a panel in their order, all of them unless they are too many. What is written
/// alike is one, as long as no series has two values there.
fn places(figure: &Figure, panel: &Panel) -> Vec<Heading> {
    let mut places: Vec<Heading> = Vec::new();
    let all = all_places(figure, panel);
    let too_many = all.len() > ROWS_MAX;
    for x in all {
        let label = plot::place(&x, &figure.plot.x.unit);
        let alone = Heading { label, xs: vec![x] };
        let is_apart = |last: &Heading| {
            let both = |series: &Series| last.of(series).is_some() && alone.of(series).is_some();
            too_many || last.label != alone.label || panel.series.iter().any(both)
        };
        match places.last_mut() {
            Some(last) if !is_apart(last) => last.xs.extend(alone.xs),
            _ => places.push(alone),
        }
    }
    places
}

/// The same, each by itself; one more than there may be stands for too many.
fn all_places(figure: &Figure, panel: &Panel) -> Vec<X> {
    let mut places: Vec<X> = Vec::new();
    for spot in panel.series.iter().flat_map(|series| &series.spots) {
        if !places.iter().any(|x| x.to_string() == spot.x.to_string()) {
            places.push(spot.x.clone());
        }
        if places.len() > ROWS_MAX {
            break;
        }
    }
    let place = |x: &X| match (&figure.words, x) {
        (Some(words), x) => {
            words.iter().position(|word| *word == x.to_string()).unwrap_or(0) as f64
        }
        (None, X::Number(number)) => *number,
        (None, X::Word(_)) => 0.0,
    };
    places.sort_by(|a, b| place(a).total_cmp(&place(b)));
    places
}

/// A row a series, a column a place.
fn across(panel: &Panel, places: &[Heading]) -> ReportTable {
    let labels = places.iter().map(|place| place.label.clone());
    let head = std::iter::once(String::new()).chain(labels);
    let row = |series: &Series| {
        TableRow::of(series, places.iter().map(|place| found(series, place, &panel.unit)))
    };
    plain(head.collect(), panel.series.iter().map(row).collect())
}

/// A row a place, a column a series.
fn down(panel: &Panel, places: &[Heading]) -> ReportTable {
    let head = std::iter::once(String::new()).chain(panel.series.iter().map(name));
    let row = |place: &Heading| {
        let cells = panel.series.iter().map(|series| found(series, place, &panel.unit));
        let cells = std::iter::once(place.label.clone()).chain(cells).collect();
        TableRow { cells, series: String::new(), paper: None }
    };
    plain(head.collect(), places.iter().map(row).collect())
}

/// Too many places to tell them all.
fn ends(panel: &Panel) -> ReportTable {
    let head = ["", "places", "least", "median", "greatest"].map(str::to_owned).into();
    let row = |series: &Series| {
        let mut medians: Vec<f64> = series.spots.iter().map(|spot| spot.median).collect();
        medians.sort_by(f64::total_cmp);
        let at = |share| plot::cell(quantile(&medians, share), &panel.unit);
        TableRow::of_many(series, [medians.len().to_string(), at(0.0), at(0.5), at(1.0)])
    };
    let series = panel.series.iter().filter(|series| !series.spots.is_empty());
    plain(head, series.map(row).collect())
}

fn distribution(panel: &Panel) -> ReportTable {
    let head = ["", "samples"].into_iter().chain(SHARES.map(|(_, name)| name));
    let row = |series: &Series| {
        let count = match series.role {
            SeriesRole::Paper => String::new(),
            _ => series.samples.len().to_string(),
        };
        let cells = SHARES.map(|(share, _)| match series.role {
            SeriesRole::Paper => read_off(&series.spots, share, &panel.unit),
            _ => plot::cell(quantile(&series.samples, share), &panel.unit),
        });
        TableRow::of_many(series, std::iter::once(count).chain(cells))
    };
    plain(head.map(str::to_owned).collect(), panel.series.iter().map(row).collect())
}

/// What a paper says of a share of its samples, where it says it.
fn read_off(spots: &[DataSpot], share: f64, unit: &str) -> String {
    let spot = spots.iter().find(|spot| (spot.median - share).abs() <= NEAR);
    match spot.map(|spot| &spot.x) {
        Some(X::Number(value)) => plot::cell(*value, unit),
        _ => "–".into(),
    }
}

fn plain(head: Vec<String>, rows: Vec<TableRow>) -> ReportTable {
    ReportTable { title: String::new(), head, rows, notes: Vec::new() }
}

fn name(series: &Series) -> String {
    match (series.role, &series.from) {
        (SeriesRole::Measured, _) => called(&series.name, false),
        (SeriesRole::Simulated, _) => format!("{}, simulated", called(&series.name, false)),
        (SeriesRole::Paper, Some(from)) => {
            format!("{}, paper ({from})", called(&series.name, true))
        }
        (SeriesRole::Paper, None) => format!("{}, paper", called(&series.name, true)),
    }
}

fn found(series: &Series, place: &Heading, unit: &str) -> String {
    let Some(spot) = place.of(series) else { return "–".into() };
    if spot.is_range() {
        return format!("{} – {}", plot::cell(spot.low, unit), plot::cell(spot.high, unit));
    }
    let mut cell = plot::cell(spot.median, unit);
    if spot.limited {
        cell.push(LIMITED);
    }
    if spot.repeats > 1 {
        cell += &format!(" ({} – {})", plot::cell(spot.low, unit), plot::cell(spot.high, unit));
    }
    cell
}
