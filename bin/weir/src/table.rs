//! Text in columns. Cells may come from anybody: a terminal obeys nothing in them.

use std::io::{self, Write};

use weir_telemetry::printable;

/// Rows whose columns are lined up. The last column may be of any width.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
    /// Whether words for states have colours.
    painted: bool,
}

/// The colours of states, as terminals number them: good, under way, bad.
const COLOURS: [(&[&str], u8); 3] = [
    (&["in-sync"], 32),
    (&["behind", "syncing", "unanswered", "waiting"], 33),
    (&["rejecting", "rejected", "disconnected"], 31),
];

impl Table {
    /// With colours, or without.
    pub(crate) fn painted(painted: bool) -> Self {
        Self { painted, ..Self::default() }
    }

    /// A cell of this width.
    fn cell(&self, text: &str, width: usize) -> String {
        let padded = format!("{text:width$}");
        let colour = COLOURS.iter().find(|(words, _)| self.painted && words.contains(&text));
        colour.map_or(padded.clone(), |(_, colour)| format!("\x1b[{colour}m{padded}\x1b[0m"))
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [impl Into<String>; N]) {
        self.rows.push(cells.map(|cell| printable(&cell.into())).into());
    }

    /// Writes the rows, each after `indent`.
    pub(crate) fn write(&self, out: &mut dyn Write, indent: &str) -> io::Result<()> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let mut widths = vec![0; columns];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        for row in &self.rows {
            let mut line = indent.to_owned();
            for (cell, width) in row.iter().zip(&widths) {
                line.push_str(&self.cell(cell, *width));
                line.push_str("  ");
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_lined_up() {
        let mut table = Table::default();
        table.row(["name", "for"]);
        table.row(["back…", "env=prod"]);
        table.row(["x"]);
        let mut out = Vec::new();
        table.write(&mut out, "  ").unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "  name   for\n  back…  env=prod\n  x\n");
    }

    #[test]
    fn colours_do_not_move_columns() {
        let mut table = Table::painted(true);
        table.row(["behind", "a"]);
        table.row(["x", "b"]);
        let mut out = Vec::new();
        table.write(&mut out, "").unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "\x1b[33mbehind\x1b[0m  a\nx       b\n");
    }

    #[test]
    fn a_cell_cannot_command_the_terminal_or_forge_a_row() {
        let mut table = Table::default();
        table.row(["a\x1b[2J\n/bin/x  in-sync", "b\x07"]);
        let mut out = Vec::new();
        table.write(&mut out, "").unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "a\\u{1b}[2J\\n/bin/x  in-sync  b\\u{7}\n");
    }
}
