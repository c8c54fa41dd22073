//! What the colours and the strokes mean: the series' names, then how measured, simulated and the
//! papers' values are drawn.

use super::canvas::{Align, Canvas, Font, Ink, Pen, PixelPoint};
use super::data::{Figure, SeriesRole};
use super::frame::REFERENCE_DASH;
use super::{lines, shortened};
use crate::figure::{PlotKind, called};

const NAME: Font = Font { size: 12.0, bold: false, ink: Ink::Text, align: Align::Left };
const ROW: f64 = 19.0;
/// How long the sample of a line is, with what stays free after it.
const SAMPLE: f64 = 34.0;
/// Between two entries.
const GAP: f64 = 18.0;

/// A legend that fits a width.
pub(super) struct Legend {
    entries: Vec<(LegendEntry, PixelPoint)>,
    rows: usize,
}

/// One sign with its words.
struct LegendEntry {
    sign: Sign,
    words: String,
}

/// What is drawn before the words.
enum Sign {
    /// A series' dot and line, in its most usual role.
    Series(usize, SeriesRole),
    /// A role's line and dot without a series' colour.
    Role(SeriesRole),
    Ring,
    Whisker,
    Reference,
}

impl Legend {
    /// What `figure` needs, in rows of at most `width` pixels.
    pub(super) fn new(figure: &Figure, width: f64) -> Legend {
        let mut rows = 0;
        let mut placed = Vec::new();
        for group in [names(figure), signs(figure)].into_iter().filter(|group| !group.is_empty()) {
            let mut at = (0.0, rows as f64 * ROW);
            rows += 1;
            for mut entry in group {
                entry.words = shortened(&entry.words, &NAME, width - SAMPLE);
                let wide = SAMPLE + NAME.width(&entry.words);
                if at.0 > 0.0 && at.0 + wide > width {
                    at = (0.0, at.1 + ROW);
                    rows += 1;
                }
                placed.push((entry, at));
                at.0 += wide + GAP;
            }
        }
        Legend { entries: placed, rows }
    }

    /// In pixels.
    pub(super) fn height(&self) -> f64 {
        self.rows as f64 * ROW
    }

    /// Draws it from its upper left corner.
    pub(super) fn draw(&self, canvas: &mut Canvas<'_>, (left, top): PixelPoint) {
        for (LegendEntry { sign, words }, (x, y)) in &self.entries {
            let (x, y) = (left + x, top + y + ROW / 2.0);
            sign.draw(canvas, (x, y));
            canvas.text(words, (x + SAMPLE, y), NAME);
        }
    }
}

impl Sign {
    fn draw(&self, canvas: &mut Canvas<'_>, (x, y): PixelPoint) {
        let (end, middle) = ((x + SAMPLE - 8.0, y), (x + (SAMPLE - 8.0) / 2.0, y));
        let pale = Pen::new(Ink::Pale, 1.3);
        match self {
            Sign::Series(colour, role) => {
                lines::sample(canvas, (x, y), end, Ink::Series(*colour), *role);
                lines::dot(canvas, middle, *colour, *role);
            }
            Sign::Role(SeriesRole::Paper) => lines::cross(canvas, middle, Ink::Text),
            Sign::Role(role) => lines::sample(canvas, (x, y), end, Ink::Text, *role),
            Sign::Ring => lines::ring(canvas, middle),
            Sign::Whisker => {
                let (x, y) = middle;
                canvas.line((x, y - 6.0), (x, y + 6.0), pale);
                canvas.line((x - 3.0, y - 6.0), (x + 3.0, y - 6.0), pale);
                canvas.line((x - 3.0, y + 6.0), (x + 3.0, y + 6.0), pale);
            }
            Sign::Reference => canvas.dashes(&[(x, y), end], REFERENCE_DASH, pale),
        }
    }
}

/// The series; one that only a paper has is drawn as the papers are.
fn names(figure: &Figure) -> Vec<LegendEntry> {
    let series = || figure.panels.iter().flat_map(|panel| &panel.series);
    let entry = |(name, colour): (String, usize)| {
        let own = series().filter(|series| series.name == name);
        let role = own.map(|series| series.role).min().unwrap_or(SeriesRole::Measured);
        let words = called(&name, role == SeriesRole::Paper);
        LegendEntry { sign: Sign::Series(colour, role), words }
    };
    figure.legend().into_iter().map(entry).collect()
}

/// What strokes mean, as far as they occur; nothing where all is measured.
fn signs(figure: &Figure) -> Vec<LegendEntry> {
    let series = || figure.panels.iter().flat_map(|panel| &panel.series);
    let mut entries = Vec::new();
    let mut add = |sign, words: &str| entries.push(LegendEntry { sign, words: words.to_owned() });
    let has = |role| series().any(|series| series.role == role);
    if has(SeriesRole::Simulated) || has(SeriesRole::Paper) {
        for (role, words) in [
            (SeriesRole::Measured, "measured"),
            (SeriesRole::Simulated, "simulated"),
            (SeriesRole::Paper, "paper"),
        ] {
            if has(role) {
                add(Sign::Role(role), words);
            }
        }
    }
    let ours = || {
        series().filter(|series| series.role != SeriesRole::Paper).flat_map(|series| &series.spots)
    };
    let plain = matches!(figure.plot.kind, PlotKind::Lines | PlotKind::Bars);
    let limited = match figure.plot.kind {
        PlotKind::Cdf => series().any(|series| series.limited),
        _ => plain && ours().any(|spot| spot.limited),
    };
    if limited {
        add(Sign::Ring, "generator-limited");
    }
    if plain && ours().any(|spot| spot.repeats > 1) {
        add(Sign::Whisker, "median, least to greatest");
    }
    if let Some(reference) = &figure.plot.reference {
        add(Sign::Reference, &reference.label);
    }
    entries
}
