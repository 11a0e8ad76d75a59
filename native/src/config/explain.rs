//! What the settings' own schema says about each of them: its meaning, which is
//! the comment of its field, and whether it is a length of time.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::Value;
use servent_core::node;
use servent_core::time::Duration;

use super::settings::Settings;

/// A setting, as its field describes it.
#[derive(Debug, Default)]
pub(super) struct SettingInfo {
    /// Its meaning, line by line.
    pub(super) meaning: Vec<String>,
    /// Microseconds inside, `30s` outside.
    pub(super) is_duration: bool,
}

static SETTINGS: LazyLock<BTreeMap<String, SettingInfo>> = LazyLock::new(|| {
    let mut found = BTreeMap::new();
    // What the program declares itself goes before what a node has of that name.
    collect("", schema::<node::Config>().as_value(), &mut found);
    collect("", schema::<Settings>().as_value(), &mut found);
    found
});

/// A schema without references: each setting has its description where it stands.
fn schema<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().with(|it| it.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<T>()
}

/// The description of the setting of this dotted key.
pub(super) fn setting(key: &str) -> Option<&'static SettingInfo> {
    SETTINGS.get(key)
}

/// Whether the setting of this dotted key is a length of time.
pub(super) fn is_duration(key: &str) -> bool {
    setting(key).is_some_and(|setting| setting.is_duration)
}

fn collect(prefix: &str, schema: &Value, found: &mut BTreeMap<String, SettingInfo>) {
    let Some(fields) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, field) in fields {
        let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        let text = field.get("description").and_then(Value::as_str).unwrap_or_default();
        let is_duration = field.get("format").and_then(Value::as_str) == Some(Duration::FORMAT);
        let meaning = text.lines().map(plain).collect();
        collect(&key, field, found);
        found.insert(key, SettingInfo { meaning, is_duration });
    }
}

/// A comment without the brackets and paths of its doc links.
fn plain(text: &str) -> String {
    let mut parts = text.split("[`");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (link, rest) = part.split_once("`]").unwrap_or((part, ""));
        let name = link.rsplit("::").next().unwrap_or(link);
        out.push_str(&format!("`{name}`{rest}"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::tree::Tree;
    use super::*;

    #[test]
    fn links_are_named_without_their_paths() {
        assert_eq!(plain("over [`Limits::a`], or [`b`]."), "over `a`, or `b`.");
        assert_eq!(plain("none"), "none");
    }

    #[test]
    fn every_setting_is_explained_in_plain_words() {
        for key in Tree::new(&Settings::default()).keys() {
            let text = setting(key).map(|setting| setting.meaning.join(" ")).unwrap_or_default();
            assert!(!text.is_empty(), "{key} has no meaning");
            assert!(!text.contains("[`") && !text.contains("::"), "{key}: {text}");
        }
    }

    /// Of those in tables of tables, in lists of limits, and of none.
    #[test]
    fn lengths_of_time_are_told_from_counts() {
        for key in
            ["queue.hold", "limits.idle_deadline", "overlay.router.stall", "fetch.place.margin"]
        {
            assert!(is_duration(key), "{key}");
        }
        for key in ["queue.slots", "limits.connections", "upload_rate", "agent", "weather"] {
            assert!(!is_duration(key), "{key}");
        }
        let tree = Tree::new(&Settings::default());
        let durations = tree.rows().filter(|(key, _, _)| is_duration(key));
        for (key, value, _) in durations {
            assert!(value.is_u64(), "{key}: {value}");
        }
    }
}
