//! Plots as SVG, in the papers' form: axes, logarithms, legends, distributions, and the papers'
//! values beside ours.
//!
//! Measured values are solid and filled, simulated ones dashed and hollow, a paper's crosses
//! without a line; a value that the generator limited has a ring. A line goes through the medians
//! of the repeats, a whisker from the least to the greatest. Pictures bring no fonts and no script,
//! and read on light and on dark pages.

mod bars;
mod canvas;
mod data;
mod frame;
mod legend;
mod lines;
mod scale;
mod unit;

pub use data::{DataSpot, Figure, Panel, Series, SeriesRole, names, quantile};

pub(crate) use unit::factor;

use canvas::{Align, Canvas, Font, Ink};
use frame::PanelFrame;
use legend::Legend;

use crate::figure::{PlotKind, called};
use crate::results::X;
#[cfg(test)]
use canvas::SERIES;

/// How wide a picture is, in pixels: as wide as a column of text.
const WIDTH: f64 = 760.0;
/// How high the area of values is, in pixels, where there is one panel, and where there are more.
const HEIGHTS: [f64; 2] = [300.0, 210.0];
/// The most lines of a panel.
const LINES_MAX: usize = 5;
/// What stays free around it all.
const MARGIN: f64 = 14.0;

const TITLE: Font = Font { size: 15.0, bold: true, ink: Ink::Text, align: Align::Left };

/// A number as tables show it: three digits, with a prefix where its unit takes one.
pub fn cell(value: f64, unit: &str) -> String {
    unit::NumberStyle::of(unit).cell(value)
}

/// A place as tables show it: a whole number of four digits at most as it is, any other number as
/// [`cell`] has it.
pub fn place(place: &X, unit: &str) -> String {
    match place {
        X::Number(number) if number.fract() != 0.0 || number.abs() >= unit::PREFIX_FROM => {
            cell(*number, unit)
        }
        X::Word(word) => called(word, false),
        place => place.to_string(),
    }
}

/// The picture; nothing for a table, and where no value can be drawn.
pub fn draw(figure: &Figure) -> Option<String> {
    if figure.plot.kind == PlotKind::Table {
        return None;
    }
    let height = HEIGHTS[usize::from(figure.panels.len() > 1)];
    let mut top = MARGIN;
    let titles = wrapped(&figure.plot.title, &TITLE, WIDTH - 2.0 * MARGIN);
    let first = top + titles.len() as f64 * 20.0 + 6.0;
    top = first;
    let mut frames = Vec::new();
    let drawn: Vec<_> = figure.panels.iter().filter(|panel| !panel.series.is_empty()).collect();
    let lefts =
        drawn.iter().map(|panel| PanelFrame::left(figure, panel)).collect::<Option<Vec<_>>>()?;
    // They share the x axis, so that what happens at one place stands above itself.
    let left = lefts.into_iter().fold(0.0, f64::max);
    for panel in drawn {
        for part in parts(panel, figure.plot.kind) {
            // All parts of a panel have its axes.
            let frame = PanelFrame::new(figure, panel, (left, top), height)?;
            top = frame.bottom();
            frames.push((part, frame));
        }
    }
    let (_, last) = frames.last_mut()?;
    last.with_label();
    let legend = Legend::new(figure, WIDTH - 2.0 * MARGIN);
    let begin = last.bottom() + 10.0;
    let size = (WIDTH, begin + legend.height() + MARGIN);
    Some(Canvas::picture(size, &figure.plot.title, |canvas| {
        for (line, title) in titles.iter().enumerate() {
            canvas.text(title, (MARGIN, MARGIN + 8.0 + line as f64 * 20.0), TITLE);
        }
        for (panel, frame) in &frames {
            frame.draw(canvas);
            match figure.plot.kind {
                PlotKind::Bars => bars::draw(canvas, frame, panel, figure),
                _ => lines::draw(canvas, frame, panel, figure),
            }
        }
        legend.draw(canvas, (MARGIN, begin));
    }))
}

/// A panel in parts of at most [`LINES_MAX`] series, about equally many in each; bars stand side by
/// side and stay together.
fn parts(panel: &Panel, kind: PlotKind) -> Vec<Panel> {
    let mut names: Vec<&str> = Vec::new();
    for series in &panel.series {
        if !names.contains(&series.name.as_str()) {
            names.push(&series.name);
        }
    }
    let count = if kind == PlotKind::Bars { 1 } else { names.len().div_ceil(LINES_MAX) };
    let part = |names: &[&str]| {
        let own = panel.series.iter().filter(|series| names.contains(&series.name.as_str()));
        Panel { series: own.cloned().collect(), ..panel.clone() }
    };
    names.chunks(names.len().div_ceil(count.max(1)).max(1)).map(part).collect()
}

/// A text in lines of at most `width` pixels, cut at spaces and after hyphens, and in words that
/// are wider than that.
fn wrapped(text: &str, font: &Font, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let letters = ((width / font.width("x")).floor() as usize).max(1);
    let cut = |word: &str| -> Vec<String> {
        if font.width(word.trim_end()) <= width {
            return vec![word.to_owned()];
        }
        let all: Vec<char> = word.chars().collect();
        all.chunks(letters).map(|piece| piece.iter().collect()).collect()
    };
    for word in text.split_inclusive([' ', '-']).flat_map(cut) {
        let word = &*word;
        match lines.last_mut() {
            Some(line) if font.width(line) + font.width(word.trim_end()) <= width => {
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.iter().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
}

/// A text that is at most `width` pixels wide, its end given up for dots.
fn shortened(text: &str, font: &Font, width: f64) -> String {
    if font.width(text) <= width {
        return text.to_owned();
    }
    let letters = (width / font.width("x")).floor() as usize;
    let begin: String = text.chars().take(letters.saturating_sub(1)).collect();
    format!("{}…", begin.trim_end())
}

#[cfg(test)]
mod tests;
