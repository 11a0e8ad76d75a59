//! Recorded traces that the page can open. A name in a URL is looked up in the
//! list of traces; it is never used as a path.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// Folders and single files of traces.
#[derive(Debug, Clone, Default)]
pub(crate) struct Traces {
    places: Vec<PathBuf>,
}

impl Traces {
    /// The traces in these folders, and these files.
    pub(crate) fn new(places: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { places: places.into_iter().collect() }
    }

    /// All traces there are now, by name.
    pub(crate) fn list(&self) -> BTreeMap<String, PathBuf> {
        let mut found = BTreeMap::new();
        let mut add = |path: PathBuf| {
            let name = path.file_name().map(|n| n.to_string_lossy().into_owned());
            if let Some(name) = name {
                found.insert(name, path);
            }
        };
        for place in &self.places {
            match std::fs::read_dir(place) {
                Ok(entries) => entries
                    .flatten()
                    .map(|entry| entry.path())
                    .filter(|path| path.extension().is_some_and(|e| e == "sqlog"))
                    .for_each(&mut add),
                Err(_) if place.is_file() => add(place.clone()),
                Err(_) => {}
            }
        }
        found
    }

    /// The file of a trace.
    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        self.list().remove(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_names_are_found() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a.sqlog"), "").unwrap();
        std::fs::write(dir.path().join("secret.txt"), "").unwrap();
        let traces = Traces::new([dir.path().to_path_buf()]);
        assert_eq!(traces.list().keys().collect::<Vec<_>>(), ["a.sqlog"]);
        assert!(traces.path("a.sqlog").is_some());
        for name in ["secret.txt", "../a.sqlog", "", "/etc/passwd"] {
            assert!(traces.path(name).is_none(), "{name}");
        }
    }
}
