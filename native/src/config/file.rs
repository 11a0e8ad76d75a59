//! The configuration file: TOML, every key with its line number.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::SyntaxError;

/// A value as it was written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Raw {
    /// Text from a command line, an environment variable or a TOML string.
    Text(String),
    Integer(i64),
    Boolean(bool),
    List(Vec<Raw>),
    /// A type that no setting has; the word names it.
    Other(&'static str),
}

/// One `key = value` of a file, with its table in the key.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ConfigEntry {
    pub(crate) key: String,
    pub(crate) line: usize,
    pub(crate) value: Raw,
}

/// All entries of a file.
///
/// # Errors
/// It is no TOML.
pub(crate) fn entries(text: &str) -> Result<Vec<ConfigEntry>, SyntaxError> {
    let table = DeTable::parse(text).map_err(|e| {
        let line = e.span().map_or(1, |span| line_of(text, span.start));
        SyntaxError { line, what: e.message().to_owned() }
    })?;
    let mut out = Vec::new();
    flatten(text, "", table.get_ref(), &mut out);
    out.sort_by_key(|e| e.line);
    Ok(out)
}

fn flatten(text: &str, prefix: &str, table: &DeTable<'_>, out: &mut Vec<ConfigEntry>) {
    for (name, value) in table {
        let key = if prefix.is_empty() {
            name.get_ref().to_string()
        } else {
            format!("{prefix}.{}", name.get_ref())
        };
        match value.get_ref() {
            DeValue::Table(inner) => flatten(text, &key, inner, out),
            _ => out.push(ConfigEntry {
                key,
                line: line_of(text, name.span().start),
                value: raw(value),
            }),
        }
    }
}

fn raw(value: &Spanned<DeValue<'_>>) -> Raw {
    match value.get_ref() {
        DeValue::String(s) => Raw::Text(s.to_string()),
        DeValue::Boolean(b) => Raw::Boolean(*b),
        DeValue::Integer(i) => i64::from_str_radix(i.as_str(), i.radix())
            .map_or(Raw::Other("a number that large"), Raw::Integer),
        DeValue::Array(items) => Raw::List(items.iter().map(raw).collect()),
        DeValue::Float(_) => Raw::Other("a fraction"),
        DeValue::Datetime(_) => Raw::Other("a date"),
        DeValue::Table(_) => Raw::Other("a table"),
    }
}

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|b| **b == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_know_their_lines() {
        let found = entries("agent = 'x'\n\n[queue]\nslots = 2\n  remanence = \"5m\"\n").unwrap();
        let seen: Vec<_> = found.iter().map(|e| (e.key.as_str(), e.line)).collect();
        assert_eq!(seen, [("agent", 1), ("queue.slots", 4), ("queue.remanence", 5)]);
        assert_eq!(found[1].value, Raw::Integer(2));
    }

    #[test]
    fn a_slip_is_found_in_its_line() {
        let SyntaxError { line, what } = entries("agent = 'x'\nslots = = 2\n").unwrap_err();
        assert_eq!(line, 2);
        assert!(!what.is_empty());
    }
}
