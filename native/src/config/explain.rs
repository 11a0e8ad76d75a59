//! The meaning of each setting, taken from the comments of the fields in the
//! code that uses it, so that the two cannot disagree.

use std::collections::BTreeMap;

/// Where the settings of a table are declared: table, struct, source.
const DECLARED: [(&str, &str, &str); 11] = [
    ("", "Settings", include_str!("settings.rs")),
    ("", "Config", include_str!("../../../core/src/node/config.rs")),
    ("limits", "NodeLimits", include_str!("../../../core/src/node/config.rs")),
    ("inbox", "InboxLimits", include_str!("../../../core/src/node/inbox.rs")),
    ("queue", "Config", include_str!("../../../core/src/queue/config.rs")),
    ("fetch", "Config", include_str!("../../../core/src/fetch/config.rs")),
    ("fetch.place", "Config", include_str!("../../../core/src/queue/client/config.rs")),
    ("overlay", "OverlayConfig", include_str!("../../../core/src/node/overlay/config.rs")),
    ("overlay.router", "Config", include_str!("../../../core/src/routing/config.rs")),
    ("swarm", "Config", include_str!("../../../core/src/swarm/config.rs")),
    ("unicast", "Config", include_str!("../../../core/src/unicast/config.rs")),
];

/// The meaning of every setting by its dotted key, line by line.
pub(super) fn all() -> BTreeMap<String, Vec<String>> {
    let mut meanings = BTreeMap::new();
    for (table, name, source) in DECLARED {
        let mut comment = Vec::new();
        let begin = format!("struct {name} {{");
        let fields = source.lines().skip_while(|line| !line.ends_with(&begin)).skip(1);
        for line in fields.take_while(|line| *line != "}").map(str::trim) {
            if let Some(text) = line.strip_prefix("///") {
                comment.push(plain(text.trim()));
            } else if let Some(field) = field(line) {
                let key = if table.is_empty() { field.into() } else { format!("{table}.{field}") };
                meanings.insert(key, std::mem::take(&mut comment));
            }
        }
    }
    meanings
}

/// The name of the field that a line declares.
fn field(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub(crate) ").or_else(|| line.strip_prefix("pub "))?;
    rest.split_once(':').map(|(name, _)| name)
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
    use super::super::settings::Settings;
    use super::super::tree::Tree;
    use super::*;

    #[test]
    fn links_are_named_without_their_paths() {
        assert_eq!(plain("over [`Limits::a`], or [`b`]."), "over `a`, or `b`.");
        assert_eq!(plain("none"), "none");
    }

    #[test]
    fn every_setting_is_explained_in_plain_words() {
        let meanings = all();
        for key in Tree::new(&Settings::default()).keys() {
            let text = meanings.get(key).map(|lines| lines.join(" ")).unwrap_or_default();
            assert!(!text.is_empty(), "{key} has no meaning");
            assert!(!text.contains("[`") && !text.contains("::"), "{key}: {text}");
        }
    }
}
