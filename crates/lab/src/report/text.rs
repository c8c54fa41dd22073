//! Tables for a terminal: columns in line, a paper's values in the row below ours.
//!
//! Only what a plan draws as a table is written: what is a picture is for the page.

use std::fmt::Write as _;

use super::tables::{ReportTable, TableRow, tables};
use super::{PapersReport, ReportedExperiment};
use crate::figure::PlotKind;
use crate::plot::Figure;
use crate::results::ValueOrigin;
use aldis_emulator::load::CONGESTION;

/// Between two columns.
const GAP: &str = "  ";
/// The name of a row that stands below the series of the same name.
const PAPER: &str = "  the paper";

/// What the experiments draw as tables; nothing where none of them does.
pub(super) fn text(report: &PapersReport) -> String {
    report.experiments.iter().map(section).collect()
}

fn section(experiment: &ReportedExperiment) -> String {
    let is_table = |figure: &&Figure| figure.plot.kind == PlotKind::Table;
    let figures: Vec<Figure> = experiment.figures.iter().filter(is_table).cloned().collect();
    let tables: String = tables(&figures).iter().flatten().map(table).collect();
    if tables.is_empty() {
        return tables;
    }
    let meta = &experiment.results.meta;
    let mut text = format!("\n{}: {}\n", meta.source, meta.title);
    if let Some(why) = experiment.partial() {
        let _ = writeln!(text, "Partial: {why}");
    }
    text += &tables;
    text.push_str("\nTo be known:\n");
    if experiment.results.points.iter().any(|point| point.origin == ValueOrigin::Measured) {
        let _ = writeln!(
            text,
            "- The load is sent by TCP {CONGESTION}, whatever the system's choice is."
        );
    }
    for note in &meta.notes {
        let _ = writeln!(text, "- {note}");
    }
    text
}

fn table(table: &ReportTable) -> String {
    let names = names(&table.rows);
    let mut lines = vec![table.head.clone()];
    lines.extend(table.rows.iter().zip(names).map(|(row, name)| {
        std::iter::once(name).chain(row.cells[1..].iter().cloned()).collect::<Vec<String>>()
    }));
    let wide = |cell: &String| cell.chars().count();
    let width = |at: usize| lines.iter().filter_map(|line| line.get(at)).map(wide).max();
    let widths: Vec<usize> = (0..table.head.len()).map(|at| width(at).unwrap_or(0)).collect();
    let mut text = format!("\n{}\n\n", table.title);
    for line in &lines {
        let cells = line.iter().zip(&widths).enumerate().map(|(at, (cell, &width))| match at {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        let cells: Vec<String> = cells.collect();
        let _ = writeln!(text, "{}", cells.join(GAP).trim_end());
    }
    if !table.notes.is_empty() {
        let _ = write!(text, "\n{}\n", table.notes.join("; "));
    }
    for source in sources(&table.rows) {
        let _ = writeln!(text, "the paper: {source}");
    }
    text
}

/// What each row is called: a paper's that stands below the same series of ours needs no name of
/// its own.
fn names(rows: &[TableRow]) -> Vec<String> {
    let name = |(at, row): (usize, &TableRow)| {
        let above = at.checked_sub(1).and_then(|at| rows.get(at));
        let is_below = row.paper.is_some() && above.is_some_and(|above| above.series == row.series);
        if is_below { PAPER.to_owned() } else { row.cells[0].clone() }
    };
    rows.iter().enumerate().map(name).collect()
}

/// Where papers say what stands below ours, each place once.
fn sources(rows: &[TableRow]) -> Vec<&str> {
    let mut sources: Vec<&str> = Vec::new();
    for source in rows.iter().filter_map(|row| row.paper.as_deref()) {
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
    sources
}
