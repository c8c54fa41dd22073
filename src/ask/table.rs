//! Tables for people.

use std::fmt;

/// Columns, rows, and a line behind them.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
    ending: Option<String>,
}

impl Table {
    pub(crate) fn new(columns: &[&str], rows: Vec<Vec<String>>) -> Table {
        let head = columns.iter().map(|name| (*name).to_owned()).collect();
        let rows = [head].into_iter().chain(rows);
        let rows = rows.map(|row| row.iter().map(|cell| printable(cell)).collect());
        Table { rows: rows.collect(), ending: None }
    }

    /// Rows of a name and a value each, without a head.
    pub(crate) fn pairs(rows: Vec<(&str, String)>) -> Table {
        let row = |(name, value): (&str, String)| vec![name.to_owned(), printable(&value)];
        Table { rows: rows.into_iter().map(row).collect(), ending: None }
    }

    pub(crate) fn ending(self, line: String) -> Table {
        Table { ending: Some(line), ..self }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell: &String| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &self.rows {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
            writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
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
        let table = Table::new(&["number", "name"], rows).ending("2 numbers".into());
        let expected = "number  name\n1       one\n1000    \\u{1b}[2Jé\n2 numbers\n";
        assert_eq!(table.to_string(), expected);
    }
}
