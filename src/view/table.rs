//! Tables: one line a row, as wide as the terminal and no wider.

use comfy_table::{ContentArrangement, Row, Table, presets};

/// How a line is shown where colours are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shade {
    /// As it is.
    Plain,
    /// Can be done now.
    Ready,
    /// Under way.
    Active,
    /// Went wrong, or cannot be read.
    Wrong,
    /// Over, or waiting.
    Quiet,
}

impl Shade {
    /// The text in its colour.
    pub(crate) fn paint(self, text: &str, colours: bool) -> String {
        let code = match self {
            Shade::Ready => "32",
            Shade::Active => "33",
            Shade::Wrong => "31",
            Shade::Quiet => "2",
            Shade::Plain => return text.to_owned(),
        };
        match colours {
            true => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            false => text.to_owned(),
        }
    }
}

/// A row: its cells, harmless already, and its shade.
#[derive(Debug)]
pub(crate) struct Line {
    /// The cells.
    pub(crate) cells: Vec<String>,
    /// How it is shown.
    pub(crate) shade: Shade,
}

/// A table's lines, its header first. `width`: columns of the terminal; `None`: nothing is cut.
pub(crate) fn lay_out(header: &[&str], rows: Vec<Line>, width: Option<u16>, colours: bool) -> Vec<String> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header.to_vec()).set_truncation_indicator("…");
    match width {
        Some(width) => table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width),
        None => table.set_content_arrangement(ContentArrangement::Disabled),
    };
    let mut shades = vec![Shade::Plain];
    for row in rows {
        let mut cells = Row::from(row.cells);
        cells.max_height(1);
        table.add_row(cells);
        shades.push(row.shade);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    if let Some(last) = table.column_mut(header.len().saturating_sub(1)) {
        last.set_padding((0, 0));
    }
    table.lines().zip(shades).map(|(line, shade)| shade.paint(line.trim_end(), colours)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Line> {
        let long = "a subject that is much longer than any narrow terminal can show on one line".to_owned();
        let row = |id: &str, shade| Line { cells: vec![id.to_owned(), "in_progress".to_owned(), long.clone()], shade };
        vec![row("1", Shade::Active), row("an id of some length", Shade::Wrong)]
    }

    #[test]
    fn every_row_is_one_line_that_fits() {
        for width in [40, 60, 100] {
            let lines = lay_out(&["ID", "STATUS", "SUBJECT"], rows(), Some(width), false);
            assert_eq!(lines.len(), 3, "{lines:#?}");
            assert!(lines.iter().all(|line| line.chars().count() <= usize::from(width)), "{lines:#?}");
            assert!(lines[1].contains('…'), "{lines:#?}");
        }
        let lines = lay_out(&["ID", "STATUS", "SUBJECT"], rows(), None, false);
        assert!(lines[2].ends_with("on one line"), "{lines:#?}");
    }

    #[test]
    fn colours_are_there_or_not() {
        assert!(lay_out(&["ID", "STATUS", "SUBJECT"], rows(), Some(80), true)[1].starts_with("\u{1b}[33m"));
        assert!(!lay_out(&["ID", "STATUS", "SUBJECT"], rows(), Some(80), false).join("").contains('\u{1b}'));
    }
}
