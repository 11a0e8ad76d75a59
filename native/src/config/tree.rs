//! The settings as a tree of values, each with its origin. The tree of the
//! defaults is the schema: a key that is not in it does not exist.

use std::collections::BTreeMap;

use serde_json::Value;

use super::error::{ExpectedValue, SettingError};
use super::file::Raw;
use super::settings::Settings;
use super::{Origin, explain, spelling, units};

/// Flags of `servent share` that are called otherwise than their settings.
const FLAGS: [(&str, &str); 3] = [
    ("limit_rate", "upload_rate"),
    ("limit_rate_per_peer", "upload_rate_per_peer"),
    ("max_per_peer", "queue.slots_per_ip"),
];

/// How many letters of a key may be wrong for us to guess which one was meant.
const SLIPS: usize = 2;

/// Values and origins, by dotted key.
pub(super) struct Tree {
    root: Value,
    order: Vec<String>,
    origins: BTreeMap<String, Origin>,
}

impl Tree {
    pub(super) fn new(defaults: &Settings) -> Self {
        let root = serde_json::to_value(defaults).unwrap_or_default();
        let mut order = Vec::new();
        leaves("", &root, &mut order);
        // In a TOML file plain keys come before tables, and each table appears
        // once.
        let table = |key: &String| key.rsplit_once('.').map(|(table, _)| table.to_owned());
        order.sort_by_key(|key| (table(key), key.clone()));
        Self { root, order, origins: BTreeMap::new() }
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.order.iter().map(String::as_str)
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = (&str, &Value, &Origin)> {
        self.keys().filter_map(|key| Some((key, self.get(key)?, self.origin(key))))
    }

    pub(super) fn origin(&self, key: &str) -> &Origin {
        self.origins.get(key).unwrap_or(&Origin::Default)
    }

    pub(super) fn settings(&self) -> serde_json::Result<Settings> {
        serde_json::from_value(self.root.clone())
    }

    /// Sets a key; an error if it is unknown or the value does not fit.
    pub(super) fn set(&mut self, key: &str, raw: Raw, origin: Origin) -> Result<(), SettingError> {
        if !self.order.iter().any(|k| k == key) {
            return Err(self.unknown(key));
        }
        let old = self.get(key).cloned().unwrap_or_default();
        let value = coerce(key, &old, raw)
            .map_err(|wanted| SettingError::Type { key: key.to_owned(), wanted })?;
        if let Some(slot) = self.slot(key) {
            *slot = value;
        }
        if let Err(why) = self.settings() {
            let number = old.is_number();
            if let Some(slot) = self.slot(key) {
                *slot = old;
            }
            let key = key.to_owned();
            return Err(if number {
                SettingError::TooLarge(key)
            } else {
                SettingError::Value { key, why }
            });
        }
        self.origins.insert(key.to_owned(), origin);
        Ok(())
    }

    fn get(&self, key: &str) -> Option<&Value> {
        key.split('.').try_fold(&self.root, |value, part| value.get(part))
    }

    fn slot(&mut self, key: &str) -> Option<&mut Value> {
        key.split('.').try_fold(&mut self.root, |value, part| value.get_mut(part))
    }

    fn unknown(&self, key: &str) -> SettingError {
        if self.order.iter().any(|k| k.starts_with(&format!("{key}."))) {
            return SettingError::Table(key.to_owned());
        }
        let near = near(self.keys(), key).or_else(|| self.of_flag(key)).map(str::to_owned);
        SettingError::Unknown { key: key.to_owned(), near }
    }

    /// The setting that is meant by the name of its flag, or without its table.
    fn of_flag(&self, name: &str) -> Option<&str> {
        let name = name.replace('-', "_");
        let flag = FLAGS.iter().find(|(flag, _)| *flag == name).map(|(_, key)| *key);
        let mut tables = self.keys().filter(|key| key.rsplit('.').next() == Some(&name));
        flag.or_else(|| tables.next().filter(|_| tables.next().is_none()))
    }
}

fn leaves(prefix: &str, value: &Value, out: &mut Vec<String>) {
    let join =
        |name: &str| if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
    match value {
        Value::Object(map) => map.iter().for_each(|(name, v)| leaves(&join(name), v, out)),
        _ => out.push(prefix.to_owned()),
    }
}

/// Converts what was written to the type the key had before.
fn coerce(key: &str, old: &Value, raw: Raw) -> Result<Value, ExpectedValue> {
    if explain::is_duration(key) {
        return match &raw {
            Raw::Text(text) => units::parse(text),
            Raw::Integer(s) => u64::try_from(*s).ok().and_then(|s| s.checked_mul(1_000_000)),
            _ => None,
        }
        .map(Value::from)
        .ok_or(ExpectedValue::Duration);
    }
    match (old, raw) {
        (Value::Number(_), Raw::Integer(n)) => {
            u64::try_from(n).map(Value::from).map_err(|_| ExpectedValue::Count)
        }
        // A number with a unit is a string in TOML.
        (Value::Number(_), Raw::Text(text)) => match units::amount(&text) {
            Ok(number) => Ok(Value::from(number)),
            Err(units::AmountError::TooMuch) => Err(ExpectedValue::Less),
            Err(units::AmountError::NoNumber) => Err(ExpectedValue::Count),
        },
        (Value::Number(_), _) => Err(ExpectedValue::Number),
        (Value::Bool(_), Raw::Boolean(b)) => Ok(Value::from(b)),
        (Value::Bool(_), Raw::Text(text)) => match text.as_str() {
            "true" | "yes" | "on" | "1" => Ok(Value::from(true)),
            "false" | "no" | "off" | "0" => Ok(Value::from(false)),
            _ => Err(ExpectedValue::Truth),
        },
        (Value::Bool(_), _) => Err(ExpectedValue::Truth),
        (Value::Array(_), Raw::List(items)) => items
            .into_iter()
            .map(|item| match item {
                Raw::Text(text) => Ok(Value::from(spelling::meant(key, &text))),
                _ => Err(ExpectedValue::List),
            })
            .collect(),
        (Value::Array(_), Raw::Text(text)) => {
            Ok(list(&text).iter().map(|item| Value::from(spelling::meant(key, item))).collect())
        }
        (Value::Array(_), _) => Err(ExpectedValue::List),
        (_, Raw::Text(text)) => Ok(Value::from(spelling::meant(key, &text))),
        (_, Raw::Other(what)) => Err(ExpectedValue::TextNot(what)),
        (_, _) => Err(ExpectedValue::Text),
    }
}

/// A list as people write it, `a, b`, or as a file has it, `["a", "b"]`.
fn list(text: &str) -> Vec<String> {
    #[derive(serde::Deserialize)]
    struct WrittenList {
        items: Vec<String>,
    }
    let written = toml::from_str(&format!("items = {text}"));
    written.map(|WrittenList { items }| items).unwrap_or_else(|_| {
        let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
        items.map(str::to_owned).collect()
    })
}

/// The known word closest in spelling, if any is close enough.
pub(super) fn near<'a>(known: impl Iterator<Item = &'a str>, word: &str) -> Option<&'a str> {
    let near = known.min_by_key(|known| distance(known, word));
    near.filter(|near| distance(near, word) <= SLIPS)
}

/// Edit distance, for "did you mean".
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let change = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_written_with_commas_or_as_in_a_file() {
        for text in ["a.example, b.example", "[\"a.example\", 'b.example']"] {
            assert_eq!(list(text), ["a.example", "b.example"], "{text}");
        }
        assert_eq!(list("[::]:6346,0.0.0.0:6346"), ["[::]:6346", "0.0.0.0:6346"]);
        assert!(list("").is_empty() && list("[]").is_empty());
    }

    #[test]
    fn a_setting_is_found_by_its_flag_and_without_its_table() {
        let tree = Tree::new(&Settings::default());
        for (said, meant) in [
            ("limit_rate", Some("upload_rate")),
            ("limit-rate-per-peer", Some("upload_rate_per_peer")),
            ("max_per_peer", Some("queue.slots_per_ip")),
            ("site_retry", Some("fetch.site_retry")),
            ("uplod_rate", Some("upload_rate")),
            ("time_scale", None),
            ("weather", None),
        ] {
            let SettingError::Unknown { near, .. } = tree.unknown(said) else { panic!("{said}") };
            assert_eq!(near.as_deref(), meant, "{said}");
        }
        for (_, key) in FLAGS {
            assert!(tree.keys().any(|known| known == key), "{key}");
        }
    }
}
