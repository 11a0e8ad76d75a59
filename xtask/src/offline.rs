//! What the worker that keeps a hosted page keeps: the files of this build.

use std::fs;
use std::hash::{DefaultHasher, Hasher as _};
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::json;

use crate::paths::files;

/// Folders of the page, and the endings of what a browser asks for in them.
const FOLDERS: [(&str, &[&str]); 3] =
    [("css", &["css"]), ("js", &["js"]), ("pkg", &["js", "wasm"])];
/// The list itself, which the worker loads by name.
const LIST: &str = "pkg/build.js";

/// Writes the names of all files of the page, and a version that is another
/// one as soon as one of them is.
///
/// # Errors
/// When a file cannot be read, or the list not written.
pub(crate) fn write(www: &Path) -> Result<()> {
    fs::write(www.join(LIST), list(www)?).with_context(|| format!("{LIST} cannot be written"))
}

fn list(www: &Path) -> Result<String> {
    let mut names = vec![String::from("index.html")];
    for (folder, endings) in FOLDERS {
        for file in files(&www.join(folder))? {
            let name = file.strip_prefix(www)?.to_string_lossy().replace('\\', "/");
            if name != LIST && endings.iter().any(|ending| name.ends_with(&format!(".{ending}"))) {
                names.push(name);
            }
        }
    }
    names.sort();
    let mut version = DefaultHasher::new();
    for name in &names {
        version.write(name.as_bytes());
        version.write(&fs::read(www.join(name)).with_context(|| format!("{name} cannot be read"))?);
    }
    // The page itself is asked for by its folder.
    names.push(String::from("./"));
    let build = json!({ "version": format!("{:016x}", version.finish()), "files": names });
    Ok(format!("self.BUILD = {build};\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_file_is_another_version_and_the_list_is_no_part_of_it() {
        let www = std::env::temp_dir().join(format!("servent-offline-{}", std::process::id()));
        for folder in ["css", "js/deep", "pkg"] {
            fs::create_dir_all(www.join(folder)).unwrap();
        }
        for (name, text) in [
            ("index.html", "<p>"),
            ("css/a.css", "a"),
            ("js/deep/b.js", "b"),
            ("js/c.d.ts", "c"),
            ("pkg/d.wasm", "d"),
        ] {
            fs::write(www.join(name), text).unwrap();
        }
        let first = list(&www).unwrap();
        for name in ["index.html", "css/a.css", "js/deep/b.js", "pkg/d.wasm", "./"] {
            assert!(first.contains(&format!("\"{name}\"")), "{first}");
        }
        assert!(!first.contains("c.d.ts"));
        write(&www).unwrap();
        assert_eq!(list(&www).unwrap(), first);
        fs::write(www.join("js/deep/b.js"), "b2").unwrap();
        assert_ne!(list(&www).unwrap(), first);
        fs::remove_dir_all(www).unwrap();
    }
}
