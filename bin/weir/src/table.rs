//! Text in columns.

use std::io::{self, Write};

/// Rows whose columns are lined up. The last column may be of any width.
#[derive(Debug, Default)]
pub(crate) struct Table(Vec<Vec<String>>);

impl Table {
    pub(crate) fn row<const N: usize>(&mut self, cells: [impl Into<String>; N]) {
        self.0.push(cells.map(Into::into).into());
    }

    /// Writes the rows, each after `indent`.
    pub(crate) fn write(&self, out: &mut dyn Write, indent: &str) -> io::Result<()> {
        let columns = self.0.iter().map(Vec::len).max().unwrap_or_default();
        let mut widths = vec![0; columns];
        for row in &self.0 {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        for row in &self.0 {
            let mut line = indent.to_owned();
            for (cell, width) in row.iter().zip(&widths) {
                line.push_str(&format!("{cell:width$}  "));
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
}
