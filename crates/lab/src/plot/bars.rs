//! A group of bars a category, a bar a series; a paper's value is a cross on a short line over the
//! same place, and a range of a paper's a whisker.

use super::canvas::{Canvas, Ink, Pen};
use super::data::{DataSpot, Figure, Panel, Series, SeriesRole};
use super::frame::PanelFrame;
use super::lines::{dot, ring, whisker};

/// The widest bar, in pixels.
const BAR_MAX: f64 = 42.0;

/// Draws all bars of a panel.
pub(super) fn draw(canvas: &mut Canvas<'_>, frame: &PanelFrame, panel: &Panel, figure: &Figure) {
    let names = figure.legend();
    let width = (frame.place_width() * 0.8 / names.len().max(1) as f64).min(BAR_MAX);
    // The papers' last, over the bars.
    for paper in [false, true] {
        for series in
            panel.series.iter().filter(|series| (series.role == SeriesRole::Paper) == paper)
        {
            let at = names.iter().position(|(name, _)| *name == series.name).unwrap_or(0);
            let shift = (at as f64 - (names.len() as f64 - 1.0) / 2.0) * width;
            for spot in &series.spots {
                bar(canvas, frame, series, spot, (shift, width * 0.84));
            }
        }
    }
}

fn bar(
    canvas: &mut Canvas<'_>,
    frame: &PanelFrame,
    series: &Series,
    spot: &DataSpot,
    (shift, width): (f64, f64),
) {
    let ((_, top), (_, base)) = frame.corners();
    let place = frame.x(&spot.x).zip(frame.y(spot.median));
    let Some((x, y)) = place.map(|(x, y)| (x + shift, y)) else { return };
    let (left, right, end) = (x - width / 2.0, x + width / 2.0, y.clamp(top, base));
    let (high, low) = (end.min(frame.ground()), end.max(frame.ground()));
    let ink = Ink::Series(series.colour);
    match series.role {
        SeriesRole::Paper if spot.is_range() => return whisker(canvas, frame, x, spot, ink),
        SeriesRole::Paper if end == y => {
            canvas.line((left, y), (right, y), Pen::new(ink, 1.5));
            return dot(canvas, (x, y), series.colour, SeriesRole::Paper);
        }
        SeriesRole::Paper => return,
        SeriesRole::Measured => {
            canvas.area((left, high), (right, low), Pen { opacity: 0.75, ..Pen::new(ink, 1.0) })
        }
        SeriesRole::Simulated => {
            canvas.area((left, high), (right, low), Pen { opacity: 0.18, ..Pen::new(ink, 1.0) });
            let outline = [(left, low), (left, high), (right, high), (right, low)];
            canvas.dashes(&outline, (4.0, 3.0), Pen::new(ink, 1.4));
        }
    }
    if spot.repeats > 1 {
        whisker(canvas, frame, x, spot, Ink::Text);
    }
    if spot.limited {
        ring(canvas, (x, end));
    }
}
