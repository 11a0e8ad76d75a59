//! Addresses and paths as people write them, wherever they write them.

use std::path::Path;

use directories::BaseDirs;

/// Settings that are addresses: `:7000` is that port of every address.
const ADDRESSES: [&str; 2] = ["listen", "lab"];
/// Settings that are paths: `~/` is the home folder.
const PATHS: [&str; 12] = [
    "share",
    "state",
    "downloads",
    "accept",
    "trace",
    "access_log",
    "www",
    "store_password_file",
    "store_ca",
    "tls_cert",
    "tls_key",
    "password_file",
];

/// What a text means as the value of a key.
pub(super) fn meant(key: &str, text: &str) -> String {
    let home = BaseDirs::new();
    spelled_out(key, text, home.as_ref().map(BaseDirs::home_dir))
}

fn spelled_out(key: &str, text: &str, home: Option<&Path>) -> String {
    if ADDRESSES.contains(&key) && text.starts_with(':') {
        return format!("[::]{text}");
    }
    match (text.strip_prefix("~/"), home.and_then(Path::to_str)) {
        // A shell has done it only where a word begins.
        (Some(rest), Some(home)) if PATHS.contains(&key) => format!("{home}/{rest}"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;

    #[test]
    fn a_port_alone_is_of_every_address_and_a_tilde_the_home_folder() {
        let home = Some(Path::new("/ann"));
        for (key, text, meant) in [
            ("listen", ":7000", "[::]:7000"),
            ("lab", ":0", "[::]:0"),
            ("lab", "off", "off"),
            ("share", "~/Films", "/ann/Films"),
            ("share", "a~/b", "a~/b"),
            ("agent", "~/x", "~/x"),
        ] {
            assert_eq!(spelled_out(key, text, home), meant);
        }
        assert_eq!(spelled_out("share", "~/Films", None), "~/Films");
    }

    #[test]
    fn the_settings_named_here_exist() {
        let settings = serde_json::to_value(Settings::default()).unwrap();
        for key in ADDRESSES.iter().chain(&PATHS) {
            assert!(settings.get(key).is_some(), "{key}");
        }
    }
}
