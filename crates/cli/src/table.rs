//! Plain text for people: lists of facts, tables, numbers with as many digits as mean something.

/// Facts under each other, their values aligned.
pub fn facts(rows: &[(&str, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    rows.iter().map(|(name, value)| format!("  {name:width$}  {value}\n")).collect()
}

/// A table: the first column is text and flush left, the others are numbers and flush right.
pub fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = header.iter().map(|cell| cell.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |cells: &[&str]| {
        let mut line = String::new();
        for (column, (cell, &width)) in cells.iter().zip(&widths).enumerate() {
            match column {
                0 => line.push_str(&format!("{cell:width$}")),
                _ => line.push_str(&format!("  {cell:>width$}")),
            }
        }
        line.trim_end().to_owned() + "\n"
    };
    let mut text = line(header);
    for row in rows {
        text.push_str(&line(&row.iter().map(String::as_str).collect::<Vec<_>>()));
    }
    text
}

/// A number with four significant digits at most.
pub fn figure(value: f64) -> String {
    let magnitude = value.abs();
    if value == 0.0 {
        return "0".to_owned();
    }
    if !value.is_finite() {
        return "not finite".to_owned();
    }
    if !(1e-3..1e6).contains(&magnitude) {
        return format!("{value:.2e}");
    }
    let decimals = (3 - magnitude.log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// `1 joint`, `2 joints`; for regular words.
pub fn plural(count: u64, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_four_digits() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (-0.5, "-0.5"),
            (1.0 / 60.0, "0.01667"),
            (123.456, "123.5"),
            (99999.4, "99999"),
            (12345678.0, "1.23e7"),
            (3.21e-10, "3.21e-10"),
            (100.0, "100"),
            (f64::NAN, "not finite"),
        ] {
            assert_eq!(figure(value), text);
        }
    }

    #[test]
    fn columns_are_aligned() {
        let rows = [vec!["a".to_owned(), "1".to_owned()], vec!["long".to_owned(), "234".to_owned()]];
        assert_eq!(table(&["name", "n"], &rows), "name    n\na       1\nlong  234\n");
        assert_eq!(facts(&[("a", "1".to_owned()), ("long", "2".to_owned())]), "  a     1\n  long  2\n");
    }
}
