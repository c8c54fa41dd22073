//! `points.csv`: one point a line, quoted as RFC 4180 says where a name holds a comma or a quote.
//!
//! A name holds no line break, so that a line is a point and its number is where an editor finds
//! it.

use super::{LineFault, NAME_BYTES_MAX, Point, REPEATS_MAX, ValueMark, ValueOrigin, X};

/// The first line.
pub(super) const HEADER: &str = "series,x,metric,value,unit,repeat,origin,mark\n";

const FIELDS: usize = 8;

/// A point's line, or why it would not be read again.
pub(super) fn line(point: &Point) -> Result<String, String> {
    let Point { series, x, metric, value, unit, repeat, origin, mark } = point;
    named("series", series)?;
    named("metric", metric)?;
    short("unit", unit)?;
    match x {
        X::Number(number) if !number.is_finite() => {
            return Err(format!("{number} is no place on an axis"));
        }
        X::Word(word) => named("x", word)?,
        X::Number(_) => (),
    }
    if !value.is_finite() {
        return Err(format!("the {metric} of `{series}` at {x} is {value}, which is no value"));
    }
    if *repeat >= REPEATS_MAX {
        return Err(format!("repeat {repeat}: accepted are 0 to {}", REPEATS_MAX - 1));
    }
    let x = match x {
        X::Number(number) => number.to_string(),
        // A category that reads like a number keeps its quotes, and is a category again.
        X::Word(word) if word.parse::<f64>().is_ok() => format!("\"{word}\""),
        X::Word(word) => quoted(word),
    };
    let (series, metric, unit) = (quoted(series), quoted(metric), quoted(unit));
    let (origin, mark) = (origin.name(), mark.name());
    Ok(format!("{series},{x},{metric},{value},{unit},{repeat},{origin},{mark}\n"))
}

/// The points, and whether the last line was cut.
pub(super) fn parse(bytes: &[u8]) -> Result<(Vec<Point>, bool), LineFault> {
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let (whole, rest) = bytes.split_at(end);
    let cut = !rest.is_empty();
    let mut lines = whole.split_inclusive(|byte| *byte == b'\n').enumerate();
    match lines.next() {
        None => return Ok((Vec::new(), true)),
        Some((_, header)) if trimmed(header) == trimmed(HEADER.as_bytes()) => (),
        Some(_) => {
            let why = format!("the first line has to be `{}`", HEADER.trim_end());
            return Err(LineFault { line: 1, why });
        }
    }
    let mut points = Vec::new();
    for (at, line) in lines {
        let fault = |why| LineFault { line: at + 1, why };
        let line = std::str::from_utf8(trimmed(line)).map_err(|_| fault("not UTF-8".into()))?;
        points.push(point(line).map_err(fault)?);
    }
    Ok((points, cut))
}

fn trimmed(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn point(line: &str) -> Result<Point, String> {
    let fields = split(line)?;
    let count = fields.len();
    let [series, x, metric, value, unit, repeat, origin, mark]: [CsvField; FIELDS] =
        fields.try_into().map_err(|_| format!("{count} fields where {FIELDS} belong"))?;
    named("series", &series.text)?;
    named("metric", &metric.text)?;
    short("unit", &unit.text)?;
    Ok(Point {
        x: place(x)?,
        value: number("value", &value.text)?,
        repeat: whole(&repeat.text)?,
        origin: ValueOrigin::named(&origin.text)?,
        mark: ValueMark::named(&mark.text)?,
        series: series.text,
        metric: metric.text,
        unit: unit.text,
    })
}

/// A field, and whether it was written in quotes.
struct CsvField {
    text: String,
    quoted: bool,
}

/// The fields of one line.
fn split(line: &str) -> Result<Vec<CsvField>, String> {
    let mut fields = Vec::new();
    let mut rest = line;
    loop {
        let (field, after) = match rest.strip_prefix('"') {
            Some(inside) => unquoted(inside)?,
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                (CsvField { text: rest[..end].to_owned(), quoted: false }, &rest[end..])
            }
        };
        fields.push(field);
        // More is refused for its number: a line of a million commas costs no more than nine.
        if after.is_empty() || fields.len() > FIELDS {
            return Ok(fields);
        }
        rest = after.strip_prefix(',').ok_or("a comma has to follow a closing quote")?;
    }
}

/// What stands before the closing quote, two quotes being one, and what follows it.
fn unquoted(inside: &str) -> Result<(CsvField, &str), String> {
    let mut text = String::new();
    let mut rest = inside;
    loop {
        let quote = rest.find('"').ok_or("a quote is never closed")?;
        text.push_str(&rest[..quote]);
        rest = &rest[quote + 1..];
        match rest.strip_prefix('"') {
            Some(after) => {
                text.push('"');
                rest = after;
            }
            None => return Ok((CsvField { text, quoted: true }, rest)),
        }
    }
}

fn quoted(name: &str) -> String {
    match name.contains([',', '"']) {
        true => format!("\"{}\"", name.replace('"', "\"\"")),
        false => name.to_owned(),
    }
}

fn place(field: CsvField) -> Result<X, String> {
    if !field.quoted && field.text.parse::<f64>().is_ok() {
        return number("x", &field.text).map(X::Number);
    }
    named("x", &field.text)?;
    Ok(X::Word(field.text))
}

fn number(field: &str, text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| format!("{field}: {} is no number; `1.5` or `2e6` would be", shown(text)))
}

fn whole(text: &str) -> Result<u32, String> {
    let repeat = text.parse::<u32>().ok().filter(|repeat| *repeat < REPEATS_MAX);
    let most = REPEATS_MAX - 1;
    repeat.ok_or_else(|| format!("repeat: {}; accepted are 0 to {most}", shown(text)))
}

fn named(field: &str, name: &str) -> Result<(), String> {
    match name.is_empty() {
        true => Err(format!("{field} is empty")),
        false => short(field, name),
    }
}

fn short(field: &str, name: &str) -> Result<(), String> {
    if name.len() > NAME_BYTES_MAX {
        return Err(format!("{field}: {} is longer than {NAME_BYTES_MAX} bytes", shown(name)));
    }
    match name.chars().any(char::is_control) {
        true => Err(format!("{field}: {} holds a control character", shown(name))),
        false => Ok(()),
    }
}

/// A field as an error shows it: not longer than a line, and without what moves the cursor.
fn shown(text: &str) -> String {
    let short: String = text.chars().take(40).collect();
    let dots = if short.len() < text.len() { "…" } else { "" };
    format!("`{}{dots}`", short.escape_debug())
}

impl ValueOrigin {
    /// `measured` or `simulated`.
    pub fn name(self) -> &'static str {
        match self {
            ValueOrigin::Measured => "measured",
            ValueOrigin::Simulated => "simulated",
        }
    }

    fn named(name: &str) -> Result<ValueOrigin, String> {
        let known = [ValueOrigin::Measured, ValueOrigin::Simulated].into_iter();
        let found = known.into_iter().find(|origin| origin.name() == name);
        found.ok_or_else(|| {
            format!("origin: {}; accepted are `measured` and `simulated`", shown(name))
        })
    }
}

impl ValueMark {
    /// Nothing, or `generator-limited`.
    pub fn name(self) -> &'static str {
        match self {
            ValueMark::None => "",
            ValueMark::GeneratorLimited => "generator-limited",
        }
    }

    fn named(name: &str) -> Result<ValueMark, String> {
        let known = [ValueMark::None, ValueMark::GeneratorLimited].into_iter();
        let found = known.into_iter().find(|mark| mark.name() == name);
        found.ok_or_else(|| {
            format!("mark: {}; accepted are nothing and `generator-limited`", shown(name))
        })
    }
}
