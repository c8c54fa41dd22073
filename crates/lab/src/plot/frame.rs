//! The area of one panel: its axes with their marks and labels, and where a value stands in it.

use super::canvas::{Align, Canvas, Font, Ink, Pen, PixelPoint};
use super::data::{Figure, Panel, Series, SeriesRole};
use super::scale::{AxisTick, Scale};
use super::unit::NumberStyle;
use super::{MARGIN, WIDTH, shortened, wrapped};
use crate::figure::{FigureAxis, PlotKind, Range, Reference, called};
use crate::results::X;

const MARK: Font = Font { size: 11.5, bold: false, ink: Ink::Pale, align: Align::Right };
const LABEL: Font = Font { size: 12.0, bold: false, ink: Ink::Text, align: Align::Left };

/// About how many labels an axis has across and upward.
const LABELS: (usize, usize) = (9, 6);
/// The most lines of a category's name.
const NAME_LINES_MAX: usize = 5;
/// The most rows that categories' names take turns in.
const NAME_ROWS_MAX: usize = 3;
/// How high a line of a category's name is, in pixels.
const NAME_LINE: f64 = 14.0;
/// How high the label above an area is, in pixels.
const ABOVE: f64 = 24.0;

/// What stands along x.
enum Across {
    Numbers(Scale, Vec<AxisTick>),
    /// The categories, each in lines, and how many rows they take turns in.
    Words(Vec<String>, Vec<Vec<String>>, usize),
}

/// A panel's area.
pub(super) struct PanelFrame {
    left: f64,
    top: f64,
    right: f64,
    base: f64,
    across: Across,
    upward: Scale,
    marks: Vec<AxisTick>,
    label: String,
    label_across: Option<String>,
    /// What [`PanelFrame::with_label`] writes below.
    label_below: String,
    /// The comparison: its line in values.
    reference: Option<Reference>,
    distribution: bool,
}

impl PanelFrame {
    /// How far from the left a panel's area begins, in pixels, so that the labels of its y axis
    /// have room; nothing where no value can be placed.
    pub(super) fn left(figure: &Figure, panel: &Panel) -> Option<f64> {
        let (_, marks) = y_axis(figure, panel)?;
        let labels = marks.iter().filter_map(|tick| tick.label.as_deref());
        let wide = labels.map(|label| MARK.width(label)).fold(0.0, f64::max);
        Some(MARGIN + wide + 8.0)
    }

    /// A panel whose area begins `left` pixels from the left and, with its label, `top` from above,
    /// and is `height` high; nothing where no value can be placed.
    pub(super) fn new(
        figure: &Figure,
        panel: &Panel,
        (left, top): PixelPoint,
        height: f64,
    ) -> Option<PanelFrame> {
        let distribution = figure.plot.kind == PlotKind::Cdf;
        let (upward, marks) = y_axis(figure, panel)?;
        let right = WIDTH - MARGIN - 10.0;
        let across = Across::of(figure, panel, right - left)?;
        let below = labelled(
            if distribution { &panel.axis } else { &figure.plot.x },
            if distribution { &panel.unit } else { &figure.plot.x.unit },
        );
        let label = match (distribution, panel.axis.relative_to.as_ref()) {
            (true, _) if figure.plot.y.label.is_empty() => {
                "Share of samples at or below".to_owned()
            }
            (true, _) => figure.plot.y.label.clone(),
            (false, Some(x)) if panel.axis.label.is_empty() => {
                format!("{} relative to {x}", panel.axis.label())
            }
            (false, _) => labelled(&panel.axis, &panel.unit),
        };
        let reference = figure.plot.reference.clone();
        let first = figure.panels.iter().position(|other| std::ptr::eq(other, panel)) == Some(0);
        Some(PanelFrame {
            left,
            right,
            top: top + ABOVE,
            base: top + ABOVE + height,
            across,
            upward,
            marks,
            label,
            label_across: None,
            label_below: below,
            reference: reference.filter(|_| first),
            distribution,
        })
    }

    /// Writes the label of the x axis below: the last panel does.
    pub(super) fn with_label(&mut self) {
        self.label_across = Some(self.label_below.clone()).filter(|label| !label.is_empty());
    }

    /// Where the panel ends, in pixels from above.
    pub(super) fn bottom(&self) -> f64 {
        let lines = match &self.across {
            Across::Numbers(..) => 1,
            Across::Words(_, names, rows) => rows * most_lines(names),
        };
        let label = if self.label_across.is_some() { 20.0 } else { 0.0 };
        self.base + 8.0 + lines as f64 * NAME_LINE + label + 4.0
    }

    /// The area's corners, upper left and lower right.
    pub(super) fn corners(&self) -> (PixelPoint, PixelPoint) {
        ((self.left, self.top), (self.right, self.base))
    }

    /// Where x stands, in pixels; outside of the area where its axis does not reach.
    pub(super) fn x(&self, x: &X) -> Option<f64> {
        let place = match (&self.across, x) {
            (Across::Numbers(scale, _), X::Number(number)) => scale.place(*number)?,
            (Across::Numbers(..), X::Word(_)) => return None,
            (Across::Words(words, ..), x) => {
                let at = words.iter().position(|word| *word == x.to_string())?;
                (at as f64 + 0.5) / words.len() as f64
            }
        };
        Some(self.left + place * (self.right - self.left))
    }

    /// Where a value stands, in pixels.
    pub(super) fn y(&self, value: f64) -> Option<f64> {
        Some(self.base - self.upward.place(value)? * (self.base - self.top))
    }

    /// Where bars begin.
    pub(super) fn ground(&self) -> f64 {
        self.y(0.0).unwrap_or(self.base).clamp(self.top, self.base)
    }

    /// How wide the place of a category is.
    pub(super) fn place_width(&self) -> f64 {
        match &self.across {
            Across::Numbers(..) => self.right - self.left,
            Across::Words(words, ..) => (self.right - self.left) / words.len() as f64,
        }
    }

    /// The axes, and what is to be compared with.
    pub(super) fn draw(&self, canvas: &mut Canvas<'_>) {
        canvas.text(&self.label, (MARGIN, self.top - ABOVE / 2.0), LABEL);
        let grid = Pen::new(Ink::Grid, 1.0);
        for tick in &self.marks {
            let Some(y) = self.y(tick.at) else { continue };
            let Some(label) = &tick.label else {
                canvas.line((self.left - 3.0, y), (self.left, y), Pen::new(Ink::Pale, 0.7));
                continue;
            };
            canvas.line((self.left, y), (self.right, y), grid);
            canvas.text(label, (self.left - 6.0, y), MARK);
        }
        match &self.across {
            Across::Numbers(_, ticks) => self.numbers(canvas, ticks),
            Across::Words(words, names, rows) => self.words(canvas, words, names, *rows),
        }
        let axis = Pen::new(Ink::Pale, 1.0);
        canvas.line((self.left, self.base), (self.right, self.base), axis);
        canvas.line((self.left, self.top), (self.left, self.base), axis);
        if let Some(label) = &self.label_across {
            let at = (self.left.midpoint(self.right), self.bottom() - 12.0);
            canvas.text(label, at, Font { align: Align::Middle, ..LABEL });
        }
        self.compare(canvas);
    }

    fn numbers(&self, canvas: &mut Canvas<'_>, ticks: &[AxisTick]) {
        for tick in ticks {
            let Some(x) = self.x(&X::Number(tick.at)) else { continue };
            let Some(label) = &tick.label else {
                canvas.line((x, self.base), (x, self.base + 3.0), Pen::new(Ink::Pale, 0.7));
                continue;
            };
            canvas.line((x, self.top), (x, self.base), Pen::new(Ink::Grid, 1.0));
            canvas.line((x, self.base), (x, self.base + 4.0), Pen::new(Ink::Pale, 1.0));
            canvas.text(label, (x, self.base + 14.0), Font { align: Align::Middle, ..MARK });
        }
    }

    fn words(&self, canvas: &mut Canvas<'_>, words: &[String], names: &[Vec<String>], rows: usize) {
        let high = most_lines(names) as f64 * NAME_LINE;
        for (place, (word, lines)) in words.iter().zip(names).enumerate() {
            let Some(x) = self.x(&X::Word(word.clone())) else { continue };
            let top = self.base + (place % rows) as f64 * high;
            if top > self.base {
                canvas.line((x, self.base), (x, top + 5.0), Pen::new(Ink::Grid, 1.0));
            }
            for (at, line) in lines.iter().enumerate() {
                let half = MARK.width(line) / 2.0 + 4.0;
                let x = x.min(WIDTH - half).max(half);
                let y = top + 14.0 + at as f64 * NAME_LINE;
                canvas.text(line, (x, y), Font { align: Align::Middle, ..MARK });
            }
        }
    }

    /// The line to compare with.
    fn compare(&self, canvas: &mut Canvas<'_>) {
        let Some(reference) = &self.reference else { return };
        let pen = Pen::new(Ink::Pale, 1.3);
        let path = match (reference.slope, reference.at, &self.across) {
            (Some(slope), _, Across::Numbers(scale, _)) => self.sloped(slope, scale),
            (_, Some(at), Across::Numbers(..)) if self.distribution => {
                self.x(&X::Number(at)).map(|x| vec![(x, self.top), (x, self.base)])
            }
            (_, Some(at), _) => self.y(at).map(|y| vec![(self.left, y), (self.right, y)]),
            _ => None,
        };
        for path in
            path.map(|path| super::lines::clipped(&path, self.corners())).unwrap_or_default()
        {
            canvas.dashes(&path, REFERENCE_DASH, pen);
        }
    }

    /// A line through the origin, in steps, as it is bent where an axis is logarithmic.
    fn sloped(&self, slope: f64, scale: &Scale) -> Option<Vec<PixelPoint>> {
        const STEPS: u32 = 48;
        let at = |step: u32| {
            let share = f64::from(step) / f64::from(STEPS);
            let x = match scale.log {
                true => scale.low * (scale.high / scale.low).powf(share),
                false => scale.low + (scale.high - scale.low) * share,
            };
            Some((self.x(&X::Number(x))?, self.y(slope * x)?))
        };
        let path: Vec<PixelPoint> = (0..=STEPS).filter_map(at).collect();
        (path.len() > 1).then_some(path)
    }
}

/// The dashes of the line to compare with.
pub(super) const REFERENCE_DASH: (f64, f64) = (9.0, 5.0);

impl Across {
    fn of(figure: &Figure, panel: &Panel, width: f64) -> Option<Across> {
        if let Some(words) = &figure.words {
            let called: Vec<String> = words.iter().map(|word| called(word, false)).collect();
            let room = |rows: usize| rows as f64 * width / words.len().max(1) as f64 - 6.0;
            // So many rows as it takes for each word to stand whole.
            let fits = |rows: &usize| called.iter().all(|name| is_whole(name, room(*rows)));
            let rows = (1..=NAME_ROWS_MAX).find(fits).unwrap_or(NAME_ROWS_MAX);
            let names = called.iter().map(|word| {
                let mut lines = wrapped(word, &MARK, room(rows));
                lines.truncate(NAME_LINES_MAX);
                lines.iter().map(|line| shortened(line, &MARK, room(rows))).collect()
            });
            return (!words.is_empty())
                .then(|| Across::Words(words.clone(), names.collect(), rows));
        }
        let (axis, unit) = match figure.plot.kind {
            PlotKind::Cdf => (&panel.axis, &panel.unit),
            _ => (&figure.plot.x, &figure.plot.x.unit),
        };
        let scale = scale(axis, across(figure).into_iter(), false)?;
        let ticks = scale.ticks(LABELS.0, NumberStyle::of(unit));
        Some(Across::Numbers(scale, ticks))
    }
}

/// Whether no word of a name is wider than the room.
fn is_whole(name: &str, room: f64) -> bool {
    name.split_inclusive([' ', '-']).all(|word| MARK.width(word.trim_end()) <= room)
}

fn most_lines(names: &[Vec<String>]) -> usize {
    names.iter().map(Vec::len).max().unwrap_or(1)
}

/// All numbers along x, of all panels: they share the axis.
fn across(figure: &Figure) -> Vec<f64> {
    let number = |x: &X| match x {
        X::Number(number) => Some(*number),
        X::Word(_) => None,
    };
    let mut all = Vec::new();
    for series in figure.panels.iter().flat_map(|panel| &panel.series) {
        all.extend(series.spots.iter().filter_map(|spot| number(&spot.x)));
        if figure.plot.kind == PlotKind::Cdf {
            // They are sorted: the ends and, for a logarithm, the least above 0.
            all.extend(series.samples.first());
            all.extend(series.samples.iter().find(|sample| **sample > 0.0));
            all.extend(series.samples.last());
        }
    }
    all
}

/// What stands along y: shares of samples, or values.
fn y_axis(figure: &Figure, panel: &Panel) -> Option<(Scale, Vec<AxisTick>)> {
    let (scale, unit) = match figure.plot.kind {
        PlotKind::Cdf => (Scale { low: 0.0, high: 1.0, log: false }, "share"),
        _ => (scale(&panel.axis, upward(figure, panel), true)?, panel.unit.as_str()),
    };
    let marks = scale.ticks(LABELS.1, NumberStyle::of(unit));
    Some((scale, marks))
}

/// All values of a panel, with the whiskers, and where a horizontal comparison lies.
fn upward<'a>(figure: &'a Figure, panel: &'a Panel) -> impl Iterator<Item = f64> + 'a {
    let ends = |series: &'a Series| {
        let paper = series.role == SeriesRole::Paper;
        series.spots.iter().flat_map(move |spot| match paper {
            true => [spot.median, spot.median],
            false => [spot.low, spot.high],
        })
    };
    let first = figure.panels.first().is_some_and(|first| std::ptr::eq(first, panel));
    let reference = figure.plot.reference.as_ref().filter(|_| first);
    panel.series.iter().flat_map(ends).chain(reference.and_then(|reference| reference.at))
}

/// As the plan says, else around the values.
fn scale(axis: &FigureAxis, values: impl Iterator<Item = f64>, zero: bool) -> Option<Scale> {
    match axis.range {
        Some(Range { low, high }) => Some(Scale { low, high, log: axis.log }),
        None => Scale::around(values, axis.log, zero),
    }
}

/// `Throughput (rps)`.
fn labelled(axis: &FigureAxis, unit: &str) -> String {
    match unit {
        "" => axis.label().to_owned(),
        unit => format!("{} ({unit})", axis.label()),
    }
}
