//! Lines through medians, over numbers, categories or seconds; and distributions.

use super::canvas::{Canvas, Ink, Pen, PixelPoint};
use super::data::{DataSpot, Figure, Panel, Series, SeriesRole};
use super::frame::PanelFrame;
use crate::figure::PlotKind;
use crate::results::X;

/// The dashes of what was simulated.
const SIMULATED_DASH: (f64, f64) = (7.0, 4.0);
/// The most steps of a distribution that are drawn.
const STEPS_MAX: usize = 600;
/// More places than this are too dense for a dot each.
const DOTS_MAX: usize = 60;
/// How many dots a line has then.
const DOTS: usize = 8;
/// How large a dot is, from its middle.
const DOT: f64 = 3.8;

/// Draws all series of a panel: the papers' first, so that ours lie above.
pub(super) fn draw(canvas: &mut Canvas<'_>, frame: &PanelFrame, panel: &Panel, figure: &Figure) {
    for paper in [true, false] {
        for series in
            panel.series.iter().filter(|series| (series.role == SeriesRole::Paper) == paper)
        {
            match figure.plot.kind {
                PlotKind::Cdf => distribution(canvas, frame, series),
                _ => line(canvas, frame, series),
            }
        }
    }
}

fn line(canvas: &mut Canvas<'_>, frame: &PanelFrame, series: &Series) {
    let place = |spot: &DataSpot| Some((frame.x(&spot.x)?, frame.y(spot.median)?));
    let path: Vec<PixelPoint> = series.spots.iter().filter_map(place).collect();
    stroke(canvas, frame, series, &path);
    if series.spots.len() > DOTS_MAX {
        return some_dots(canvas, frame, series, &path);
    }
    for spot in &series.spots {
        let Some(at) = place(spot).filter(|at| within(*at, frame.corners())) else { continue };
        if spot.repeats > 1 {
            whisker(canvas, frame, at.0, spot, ink(series));
        }
        dot(canvas, at, series.colour, series.role);
        if spot.limited {
            ring(canvas, at);
        }
    }
}

/// Steps through the sorted samples; a paper's values are points.
fn distribution(canvas: &mut Canvas<'_>, frame: &PanelFrame, series: &Series) {
    if series.role == SeriesRole::Paper {
        return line(canvas, frame, series);
    }
    let (count, (_, (_, base))) = (series.samples.len(), frame.corners());
    let steps = count.min(STEPS_MAX);
    let mut path: Vec<PixelPoint> = Vec::new();
    for step in 0..steps {
        // The same share of the samples in each step.
        let rank = (step + 1) * count / steps;
        let Some(x) = frame.x(&X::Number(series.samples[rank - 1])) else { continue };
        let Some(y) = frame.y(rank as f64 / count as f64) else { continue };
        let before = path.last().map_or(base, |last| last.1);
        path.extend([(x, before), (x, y)]);
    }
    // One sign for all of it, in its middle, where it is not among the others' ends.
    let middle = path.get(path.len() / 2).filter(|at| within(**at, frame.corners()));
    if let Some(at) = middle.filter(|_| series.limited) {
        ring(canvas, *at);
    }
    // What comes after the greatest sample: still all of them.
    path.extend(path.last().map(|last| (frame.corners().1.0, last.1)));
    stroke(canvas, frame, series, &path);
    some_dots(canvas, frame, series, &path);
}

/// Dots along a path, at other places for each colour, so that lines that lie on each other can be
/// told apart.
fn some_dots(canvas: &mut Canvas<'_>, frame: &PanelFrame, series: &Series, path: &[PixelPoint]) {
    let shift = (series.colour % DOTS) as f64 / DOTS as f64;
    for dot_at in 0..DOTS {
        let at = (dot_at as f64 + 0.1 + 0.8 * shift) / DOTS as f64 * path.len() as f64;
        let at = path.get(at as usize).filter(|at| within(**at, frame.corners()));
        if let Some(at) = at {
            dot(canvas, *at, series.colour, series.role);
        }
    }
}

fn stroke(canvas: &mut Canvas<'_>, frame: &PanelFrame, series: &Series, path: &[PixelPoint]) {
    for path in clipped(path, frame.corners()) {
        let ink = ink(series);
        match series.role {
            SeriesRole::Measured => canvas.path(&path, Pen::new(ink, 1.9)),
            SeriesRole::Simulated => canvas.dashes(&path, SIMULATED_DASH, Pen::new(ink, 1.7)),
            // A paper's values are points: no line was drawn through them.
            SeriesRole::Paper => {}
        }
    }
}

fn ink(series: &Series) -> Ink {
    Ink::Series(series.colour)
}

/// A short line of a role, for the legend.
pub(super) fn sample(
    canvas: &mut Canvas<'_>,
    from: PixelPoint,
    to: PixelPoint,
    ink: Ink,
    role: SeriesRole,
) {
    match role {
        SeriesRole::Measured => canvas.path(&[from, to], Pen::new(ink, 1.9)),
        SeriesRole::Simulated => canvas.dashes(&[from, to], SIMULATED_DASH, Pen::new(ink, 1.7)),
        SeriesRole::Paper => {}
    }
}

/// From the least to the greatest of the repeats.
pub(super) fn whisker(
    canvas: &mut Canvas<'_>,
    frame: &PanelFrame,
    x: f64,
    spot: &DataSpot,
    ink: Ink,
) {
    let ((_, top), (_, base)) = frame.corners();
    let low = frame.y(spot.low).unwrap_or(base).clamp(top, base);
    let high = frame.y(spot.high).unwrap_or(base).clamp(top, base);
    let pen = Pen { ink, width: 1.1, opacity: 0.8 };
    canvas.line((x, low), (x, high), pen);
    canvas.line((x - 3.0, low), (x + 3.0, low), pen);
    canvas.line((x - 3.0, high), (x + 3.0, high), pen);
}

/// A dot of a series: its shape is its own, filled where it was measured, hollow where it was
/// simulated, a cross where a paper says so.
pub(super) fn dot(canvas: &mut Canvas<'_>, at: PixelPoint, colour: usize, role: SeriesRole) {
    let ink = Ink::Series(colour);
    match role {
        SeriesRole::Paper => cross(canvas, at, ink),
        SeriesRole::Measured => shape(canvas, at, DOT, colour, ink),
        SeriesRole::Simulated => {
            shape(canvas, at, DOT + 0.8, colour, ink);
            shape(canvas, at, DOT - 1.0, colour, Ink::Paper);
        }
    }
}

pub(super) fn cross(canvas: &mut Canvas<'_>, (x, y): PixelPoint, ink: Ink) {
    let pen = Pen::new(ink, 1.5);
    canvas.line((x - DOT, y - DOT), (x + DOT, y + DOT), pen);
    canvas.line((x - DOT, y + DOT), (x + DOT, y - DOT), pen);
}

/// A circle, a square, and triangles and diamonds, so that colour is not all there is.
fn shape(canvas: &mut Canvas<'_>, (x, y): PixelPoint, r: f64, colour: usize, ink: Ink) {
    let pen = Pen::new(ink, 1.0);
    let place = |corners: &[PixelPoint]| -> Vec<PixelPoint> {
        corners.iter().map(|(dx, dy)| (x + dx * r, y + dy * r)).collect()
    };
    match colour % 5 {
        0 => canvas.circle((x, y), r, true, pen),
        1 => canvas.polygon(&place(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]), pen),
        2 => canvas.polygon(&place(&[(0.0, -1.25), (1.15, 0.85), (-1.15, 0.85)]), pen),
        3 => canvas.polygon(&place(&[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)]), pen),
        _ => canvas.polygon(&place(&[(0.0, 1.25), (1.15, -0.85), (-1.15, -0.85)]), pen),
    }
}

/// The sign of a value that the generator limited.
pub(super) fn ring(canvas: &mut Canvas<'_>, at: PixelPoint) {
    canvas.circle(at, DOT + 3.6, false, Pen::new(Ink::Text, 1.3));
}

fn within((x, y): PixelPoint, ((left, top), (right, base)): (PixelPoint, PixelPoint)) -> bool {
    const ROOM: f64 = 0.6;
    (left - ROOM..=right + ROOM).contains(&x) && (top - ROOM..=base + ROOM).contains(&y)
}

/// The parts of a path that lie in an area.
pub(super) fn clipped(path: &[PixelPoint], area: (PixelPoint, PixelPoint)) -> Vec<Vec<PixelPoint>> {
    let ((left, top), (right, base)) = area;
    let path: Vec<PixelPoint> =
        path.iter().map(|(x, y)| (onto(*x, left, right), onto(*y, top, base))).collect();
    let mut parts: Vec<Vec<PixelPoint>> = Vec::new();
    let mut open = false;
    for pair in path.windows(2) {
        let Some((from, to)) = inside(pair[0], pair[1], area) else {
            open = false;
            continue;
        };
        match parts.last_mut().filter(|part| open && part.last() == Some(&from)) {
            Some(part) => part.push(to),
            None => parts.push(vec![from, to]),
        }
        open = to == pair[1];
    }
    parts
}

/// A value that misses an edge by what rounding does lies on it.
fn onto(at: f64, low: f64, high: f64) -> f64 {
    const NEAR: f64 = 0.01;
    if (low - NEAR..=high + NEAR).contains(&at) { at.clamp(low, high) } else { at }
}

/// The part of a straight line that lies in an area, after Liang and Barsky.
fn inside(
    from: PixelPoint,
    to: PixelPoint,
    ((left, top), (right, base)): (PixelPoint, PixelPoint),
) -> Option<(PixelPoint, PixelPoint)> {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let (mut begin, mut end) = (0.0f64, 1.0f64);
    let edges =
        [(-dx, from.0 - left), (dx, right - from.0), (-dy, from.1 - top), (dy, base - from.1)];
    for (slope, room) in edges {
        match slope {
            0.0 if room < 0.0 => return None,
            0.0 => (),
            slope if slope < 0.0 => begin = begin.max(room / slope),
            slope => end = end.min(room / slope),
        }
    }
    // What comes from far away is not exact; it never lies outside.
    let at = |share: f64| match share {
        0.0 => from,
        1.0 => to,
        share => ((from.0 + dx * share).clamp(left, right), (from.1 + dy * share).clamp(top, base)),
    };
    let lies = |(x, y): PixelPoint| (left..=right).contains(&x) && (top..=base).contains(&y);
    let (from, to) = (at(begin), at(end));
    (begin <= end && lies(from) && lies(to)).then_some((from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    const AREA: (PixelPoint, PixelPoint) = ((0.0, 0.0), (10.0, 10.0));

    #[test]
    fn what_lies_outside_is_cut_off() {
        assert_eq!(
            clipped(&[(-5.0, 5.0), (5.0, 5.0), (5.0, 15.0)], AREA),
            [[(0.0, 5.0), (5.0, 5.0), (5.0, 10.0)]]
        );
        let twice = clipped(&[(5.0, 5.0), (5.0, 15.0), (7.0, 15.0), (7.0, 5.0)], AREA);
        assert_eq!(twice, [[(5.0, 5.0), (5.0, 10.0)], [(7.0, 10.0), (7.0, 5.0)]]);
        assert!(clipped(&[(-5.0, -5.0), (15.0, -1.0)], AREA).is_empty());
        assert!(clipped(&[(5.0, 5.0)], AREA).is_empty());
        let edge = 10.0 + 1e-13;
        assert_eq!(clipped(&[(edge, 2.0), (edge, 8.0)], AREA), [[(10.0, 2.0), (10.0, 8.0)]]);
    }
}
