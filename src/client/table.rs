//! Tables for people, no wider than their terminal where they know columns that may be broken.

use std::fmt;

/// Columns, rows, and a line behind them.
pub(crate) struct TextTable {
    rows: Vec<Vec<String>>,
    ending: Option<String>,
    fit: Option<Fit>,
}

/// How a table is made to fit.
#[derive(Clone, Debug)]
pub(crate) struct Fit {
    /// Letters of a line.
    pub(crate) width: usize,
    /// The columns whose cells may go on in the next line.
    pub(crate) columns: Vec<usize>,
}

/// A column is not made narrower than this, however narrow the terminal is.
const CELL_MIN: usize = 12;

impl TextTable {
    pub(crate) fn new(columns: &[&str], rows: Vec<Vec<String>>) -> TextTable {
        let head = columns.iter().map(|name| (*name).to_owned()).collect();
        let rows = [head].into_iter().chain(rows);
        let rows = rows.map(|row| row.iter().map(|cell| printable(cell)).collect());
        TextTable { rows: rows.collect(), ending: None, fit: None }
    }

    /// Rows of a name and a value each, without a head.
    pub(crate) fn pairs(rows: Vec<(&str, String)>) -> TextTable {
        let row = |(name, value): (&str, String)| vec![name.to_owned(), printable(&value)];
        TextTable { rows: rows.into_iter().map(row).collect(), ending: None, fit: None }
    }

    pub(crate) fn ending(self, line: String) -> TextTable {
        TextTable { ending: Some(line), ..self }
    }

    /// Breaks cells as far as the table is too wide, and there is a way.
    pub(crate) fn fitting(self, fit: Option<Fit>) -> TextTable {
        TextTable { fit, ..self }
    }

    /// How wide each column is. The widest that may be broken gives way first, until its words
    /// would break; then the first of them does.
    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell: &String| cell.chars().count()).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = (0..columns).map(width).collect();
        let Some(fit) = &self.fit else { return widths };
        let gaps = GAP * columns.saturating_sub(1);
        while widths.iter().sum::<usize>() + gaps > fit.width {
            let all = || fit.columns.iter().copied().filter(|column| *column < columns);
            let whole = all().filter(|column| widths[*column] > self.word_max(*column));
            let gives_way = whole.max_by_key(|column| widths[*column]);
            match gives_way.or_else(|| all().find(|column| widths[*column] > CELL_MIN)) {
                Some(column) => widths[column] -= 1,
                None => break,
            }
        }
        widths
    }
}

impl TextTable {
    /// Letters of the longest word of a column.
    fn word_max(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        let words = cells.flat_map(|cell| cell.split_inclusive([',', ' ']));
        words.map(|word| word.trim_end().chars().count()).max().unwrap_or(0).max(CELL_MIN)
    }
}

/// Letters between columns.
const GAP: usize = 2;

/// A cell in lines of this width, broken behind commas and spaces where there are any.
fn broken(cell: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for part in cell.split_inclusive([',', ' ']) {
        let fits = |line: &String| line.chars().count() + part.trim_end().chars().count() <= width;
        if !lines.last().is_some_and(fits) && !lines.last().is_some_and(String::is_empty) {
            lines.push(String::new());
        }
        for letter in part.chars() {
            if lines.last().is_some_and(|line| line.chars().count() == width) && letter != ' ' {
                lines.push(String::new());
            }
            lines.last_mut().expect("there is one").push(letter);
        }
    }
    lines
}

impl fmt::Display for TextTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self.widths();
        for row in &self.rows {
            let cells: Vec<Vec<String>> = row
                .iter()
                .zip(&widths)
                .map(|(cell, width)| broken(cell, (*width).max(1)))
                .collect();
            for line in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
                let part = |cell: &Vec<String>| cell.get(line).cloned().unwrap_or_default();
                let parts = cells.iter().map(part).zip(&widths);
                let parts = parts.map(|(part, width)| format!("{:<width$}", part.trim_end()));
                writeln!(f, "{}", parts.collect::<Vec<_>>().join("  ").trim_end())?;
            }
        }
        self.ending.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

/// What a stranger wrote (the name of a port) can move no cursor and ring no bell.
pub(crate) fn printable(text: &str) -> String {
    let one = |letter: char| match letter.is_control() {
        true => letter.escape_default().to_string(),
        false => letter.to_string(),
    };
    text.chars().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_each_other() {
        let rows = vec![vec!["1".into(), "one".into()], vec!["1000".into(), "\u{1b}[2Jé".into()]];
        let table = TextTable::new(&["number", "name"], rows).ending("2 numbers".into());
        let expected = "number  name\n1       one\n1000    \\u{1b}[2Jé\n2 numbers\n";
        assert_eq!(table.to_string(), expected);
    }

    #[test]
    fn a_table_that_is_too_wide_breaks_the_cells_that_may_be_broken() {
        let row = ["1", "eth_dst=00:00:00:00:00:02,eth_type=0x0800,in_port=1", "output:2", "hub"];
        let table = || {
            let row = row.iter().map(|cell| (*cell).to_owned()).collect();
            TextTable::new(&["table", "match", "does", "owner"], vec![row])
        };
        let fit = |width| table().fitting(Some(Fit { width, columns: vec![1, 2] })).to_string();
        let expected = "\
table  match                       does      owner
1      eth_dst=00:00:00:00:00:02,  output:2  hub
       eth_type=0x0800,in_port=1
";
        assert_eq!(fit(50), expected);
        assert!(fit(44).contains("  output:2  "), "words break last: {}", fit(44));
        for width in [40, 50, 80, 200] {
            let text = fit(width);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}: {text}");
            let glued: String = text.split_whitespace().collect();
            assert!(glued.contains("hub") && glued.contains("output:2"), "{text}");
        }
        assert_eq!(fit(200), table().to_string(), "nothing is broken where there is room");
        assert_eq!(fit(200).lines().count(), 2);
    }
}
