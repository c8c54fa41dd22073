//! Shapes on `plotters`' SVG backend, in pixels with a fraction, in colours that have a counterpart
//! for dark pages.
//!
//! The backend knows whole units only, so a pixel is [`FINE`] of them. It has no classes and no
//! dashes either: the style sheet in the head of the picture finds what to lighten by its colour,
//! and a dashed line is drawn dash by dash.

use plotters_backend::text_anchor::{HPos, Pos, VPos};
use plotters_backend::{
    BackendColor, BackendStyle, BackendTextStyle, DrawingBackend, FontFamily, FontStyle,
};
use plotters_svg::SVGBackend;

/// Units of a pixel.
const FINE: f64 = 10.0;

/// How wide a letter is in relation to the size of its font, on average and rather more.
const LETTER: f64 = 0.56;

/// A place, in pixels from the upper left corner.
pub(super) type PixelPoint = (f64, f64);

/// A colour by what it is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ink {
    /// Behind everything.
    Paper,
    /// Words and axes.
    Text,
    /// Words of less weight.
    Pale,
    /// Lines behind the values.
    Grid,
    /// A series, by the place of its name.
    Series(usize),
}

/// On light and on dark pages.
pub(super) type Pair = (u32, u32);

const PAPER: Pair = (0xFFFFFF, 0x15191F);
const TEXT: Pair = (0x1F2328, 0xE6EAF0);
const PALE: Pair = (0x59616B, 0xA3ACB8);
const GRID: Pair = (0xE3E6EA, 0x2F363F);

/// Okabe and Ito's colours, which the colour-blind can tell apart, darkened or lightened until they
/// stand out on the page.
pub(super) const SERIES: [Pair; COLOURS] = [
    (0x0072B2, 0x4FA8DE),
    (0xD55E00, 0xF0813A),
    (0x009E73, 0x25C296),
    (0xB8588F, 0xDB8FBC),
    (0x9A7400, 0xE6B422),
    (0x2E9BD6, 0x8CCBF2),
    (0x6B6F76, 0xB4BAC3),
    (0x7A4FB5, 0xB393E6),
    (0x8C4A1F, 0xD9A27A),
    (0x4B7F1E, 0x93D06A),
    (0xB3243B, 0xF5788C),
    (0x00697A, 0x4FC8DA),
];

/// How many series can be told apart.
pub(super) const COLOURS: usize = 12;

impl Ink {
    fn pair(self) -> Pair {
        match self {
            Ink::Paper => PAPER,
            Ink::Text => TEXT,
            Ink::Pale => PALE,
            Ink::Grid => GRID,
            Ink::Series(place) => SERIES[place % SERIES.len()],
        }
    }

    fn all() -> impl Iterator<Item = Ink> {
        [Ink::Paper, Ink::Text, Ink::Pale, Ink::Grid]
            .into_iter()
            .chain((0..SERIES.len()).map(Ink::Series))
    }
}

/// How a line or an area is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pen {
    pub ink: Ink,
    /// In pixels.
    pub width: f64,
    /// 0 to 1.
    pub opacity: f64,
}

impl Pen {
    pub(super) fn new(ink: Ink, width: f64) -> Pen {
        Pen { ink, width, opacity: 1.0 }
    }
}

impl BackendStyle for Pen {
    fn color(&self) -> BackendColor {
        colour(self.ink, self.opacity)
    }

    fn stroke_width(&self) -> u32 {
        fine(self.width).max(1) as u32
    }
}

fn colour(ink: Ink, alpha: f64) -> BackendColor {
    let [_, red, green, blue] = ink.pair().0.to_be_bytes();
    BackendColor { alpha, rgb: (red, green, blue) }
}

/// What part of a text stands at its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Align {
    Left,
    Middle,
    Right,
}

/// How a text is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Font {
    /// In pixels.
    pub size: f64,
    pub bold: bool,
    pub ink: Ink,
    pub align: Align,
}

impl Font {
    /// About how wide a text is, in pixels.
    pub(super) fn width(&self, text: &str) -> f64 {
        text.chars().count() as f64 * self.size * LETTER * if self.bold { 1.06 } else { 1.0 }
    }
}

impl BackendTextStyle for Font {
    type FontError = std::convert::Infallible;

    fn color(&self) -> BackendColor {
        colour(self.ink, 1.0)
    }

    fn size(&self) -> f64 {
        // The backend divides by as much.
        self.size * FINE * 1.24
    }

    fn style(&self) -> FontStyle {
        if self.bold { FontStyle::Bold } else { FontStyle::Normal }
    }

    fn anchor(&self) -> Pos {
        let across = match self.align {
            Align::Left => HPos::Left,
            Align::Middle => HPos::Center,
            Align::Right => HPos::Right,
        };
        Pos::new(across, VPos::Center)
    }

    fn family(&self) -> FontFamily<'_> {
        FontFamily::Name("system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif")
    }

    fn layout_box(&self, text: &str) -> Result<((i32, i32), (i32, i32)), Self::FontError> {
        Ok(((0, 0), (fine(self.width(text)), fine(self.size))))
    }

    fn draw<E, Draw: FnMut(i32, i32, BackendColor) -> Result<(), E>>(
        &self,
        _text: &str,
        _at: (i32, i32),
        _draw: Draw,
    ) -> Result<Result<(), E>, Self::FontError> {
        // For backends of pixels, which is none of ours.
        Ok(Ok(()))
    }
}

/// A picture that is being drawn.
pub(super) struct Canvas<'a> {
    backend: SVGBackend<'a>,
}

impl Canvas<'_> {
    /// Draws a picture of `size` pixels that is called `title`, and returns its text.
    pub(super) fn picture(
        size: PixelPoint,
        title: &str,
        draw: impl FnOnce(&mut Canvas<'_>),
    ) -> String {
        let mut text = String::new();
        let whole = (fine(size.0) as u32, fine(size.1) as u32);
        let mut canvas = Canvas { backend: SVGBackend::with_string(&mut text, whole) };
        canvas.area((0.0, 0.0), size, Pen::new(Ink::Paper, 0.0));
        draw(&mut canvas);
        canvas.backend.present().expect("a string takes it all");
        drop(canvas);
        // The backend's own first line knows no title, no style, and a tenth of the size.
        let body = text.split_once('\n').map_or("", |(_, body)| body);
        head(size, whole, title) + body
    }

    pub(super) fn line(&mut self, from: PixelPoint, to: PixelPoint, pen: Pen) {
        self.backend.draw_line(place(from), place(to), &pen).expect(INFALLIBLE);
    }

    pub(super) fn path(&mut self, path: &[PixelPoint], pen: Pen) {
        self.backend.draw_path(path.iter().copied().map(place), &pen).expect(INFALLIBLE);
    }

    /// A path of dashes `on` pixels long, `off` apart.
    pub(super) fn dashes(&mut self, path: &[PixelPoint], (on, off): (f64, f64), pen: Pen) {
        let mut dash = Vec::new();
        let mut gone = 0.0;
        for pair in path.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            let length = (to.0 - from.0).hypot(to.1 - from.1);
            let between = |way: f64| {
                let share = if length > 0.0 { way / length } else { 0.0 };
                (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share)
            };
            let mut way = 0.0;
            while way < length {
                let drawn = gone < on;
                if drawn && dash.is_empty() {
                    dash.push(between(way));
                }
                let left = if drawn { on - gone } else { on + off - gone };
                let step = left.min(length - way);
                way += step;
                gone += step;
                if drawn {
                    dash.push(between(way));
                }
                if drawn && gone >= on {
                    self.path(&std::mem::take(&mut dash), pen);
                }
                if gone >= on + off {
                    gone = 0.0;
                }
            }
        }
        if dash.len() > 1 {
            self.path(&dash, pen);
        }
    }

    /// A filled rectangle.
    pub(super) fn area(&mut self, from: PixelPoint, to: PixelPoint, pen: Pen) {
        self.backend.draw_rect(place(from), place(to), &pen, true).expect(INFALLIBLE);
    }

    pub(super) fn polygon(&mut self, path: &[PixelPoint], pen: Pen) {
        self.backend.fill_polygon(path.iter().copied().map(place), &pen).expect(INFALLIBLE);
    }

    pub(super) fn circle(&mut self, at: PixelPoint, radius: f64, fill: bool, pen: Pen) {
        self.backend.draw_circle(place(at), fine(radius) as u32, &pen, fill).expect(INFALLIBLE);
    }

    pub(super) fn text(&mut self, text: &str, at: PixelPoint, font: Font) {
        self.backend.draw_text(text, &font, place(at)).expect(INFALLIBLE);
    }
}

const INFALLIBLE: &str = "drawing into a string does not fail";

fn fine(pixels: f64) -> i32 {
    (pixels * FINE).round() as i32
}

fn place((x, y): PixelPoint) -> (i32, i32) {
    (fine(x), fine(y))
}

/// The picture's first lines: its size, its name, and the colours for dark pages.
fn head((width, height): PixelPoint, (wide, high): (u32, u32), title: &str) -> String {
    let title = crate::markup::escape(title);
    let dark = Ink::all().map(|ink| {
        let (light, dark) = ink.pair();
        format!("[fill=\"#{light:06X}\"]{{fill:#{dark:06X}}}[stroke=\"#{light:06X}\"]{{stroke:#{dark:06X}}}")
    });
    let dark: String = dark.collect();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {wide} {high}\" \
         role=\"img\" aria-label=\"{title}\">\n<title>{title}</title>\n\
         <style>@media (prefers-color-scheme:dark){{{dark}}}</style>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_are_as_long_as_they_should_be_around_corners_too() {
        let pen = Pen::new(Ink::Text, 1.0);
        let corner = [(0.0, 0.0), (10.0, 0.0), (10.0, 10.0)];
        let picture =
            Canvas::picture((20.0, 20.0), "", |canvas| canvas.dashes(&corner, (6.0, 2.0), pen));
        let dashes: Vec<_> =
            picture.lines().filter_map(|line| line.split("points=\"").nth(1)).collect();
        assert_eq!(dashes, ["0,0 60,0 \"/>", "80,0 100,0 100,40 \"/>", "100,60 100,100 \"/>"]);
    }

    #[test]
    fn a_text_cannot_leave_its_place() {
        let font = Font { size: 12.0, bold: false, ink: Ink::Text, align: Align::Left };
        let wild = "</text><script>\"&'";
        let picture =
            Canvas::picture((9.0, 9.0), wild, |canvas| canvas.text(wild, (1.0, 1.0), font));
        assert!(!picture.contains("<script"));
        assert_eq!(picture.matches("&lt;/text&gt;&lt;script&gt;&quot;&amp;").count(), 3);
    }
}
