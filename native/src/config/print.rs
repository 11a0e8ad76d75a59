//! The configuration as text: a file that can be read back, or JSON.

use serde_json::{Map, Value, json};

use super::{Config, Origin, explain, units};

/// A TOML file; each value with its origin in a comment, and with its meaning
/// above it if wanted. Settings without a value are commented out.
pub(super) fn toml(config: &Config, explained: bool) -> String {
    let mut out = String::new();
    let mut table = "";
    for (key, value, origin) in config.rows() {
        let (section, name) = key.rsplit_once('.').unwrap_or(("", key));
        if section != table {
            out.push_str(&format!("\n[{section}]\n"));
            table = section;
        }
        if let Some(setting) = explain::setting(key).filter(|_| explained) {
            out.push('\n');
            setting.meaning.iter().for_each(|line| out.push_str(&format!("# {line}\n")));
        }
        let line = match value {
            Value::Null => format!("# {name} ="),
            _ => format!("{name} = {}", written(key, value)),
        };
        match origin {
            Origin::Default => out.push_str(&format!("{line}\n")),
            _ => out.push_str(&format!("{line:<40} # {origin}\n")),
        }
    }
    out
}

/// `{key: {value, origin}}`, durations as people write them.
pub(super) fn json(config: &Config) -> Value {
    let rows = config.rows().map(|(key, value, origin)| {
        let value = match value.as_u64() {
            Some(us) if explain::is_duration(key) => Value::from(units::print(us)),
            _ => value.clone(),
        };
        (key.to_owned(), json!({ "value": value, "origin": origin.to_string() }))
    });
    Value::Object(rows.collect::<Map<_, _>>())
}

pub(super) fn written(key: &str, value: &Value) -> String {
    match value.as_u64() {
        Some(us) if explain::is_duration(key) => format!("\"{}\"", units::print(us)),
        _ => toml::Value::try_from(value).map_or_else(|_| value.to_string(), |v| v.to_string()),
    }
}
