//! What may have changed since the last look.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::clock::Stopwatch;

/// Paths kept; when there are more, everything is looked through.
const MOST_PATHS: usize = 10_000;

/// Where something changed, and since when that is known.
#[derive(Debug, Default)]
pub(super) struct Dirty {
    since: Option<Stopwatch>,
    paths: BTreeSet<PathBuf>,
    /// It is not known where.
    anywhere: bool,
}

impl Dirty {
    /// Adds paths where something changed; none means that it may be anywhere.
    pub(super) fn add(&mut self, paths: Vec<PathBuf>) {
        self.since.get_or_insert_with(Stopwatch::start);
        self.anywhere |= paths.is_empty();
        self.paths.extend(paths);
        if self.anywhere || self.paths.len() > MOST_PATHS {
            self.anywhere = true;
            self.paths.clear();
        }
    }

    /// The time since the first change, if there was one.
    pub(super) fn since(&self) -> Option<&Stopwatch> {
        self.since.as_ref()
    }

    /// Forgets all of them and returns them; `None` when it is not known where.
    pub(super) fn take(&mut self) -> Option<BTreeSet<PathBuf>> {
        let Self { paths, anywhere, .. } = std::mem::take(self);
        (!anywhere).then_some(paths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_paths_are_everywhere() {
        let mut dirty = Dirty::default();
        let path = |n: usize| PathBuf::from(format!("/a/{n}"));
        dirty.add(vec![path(0)]);
        dirty.add(vec![path(0), path(1)]);
        assert!(dirty.since().is_some());
        assert_eq!(dirty.take().map(|paths| paths.len()), Some(2));
        assert!(dirty.since().is_none());
        dirty.add((0..=MOST_PATHS).map(path).collect());
        dirty.add(vec![path(0)]);
        assert_eq!(dirty.take(), None);
        dirty.add(Vec::new());
        assert_eq!(dirty.take(), None, "the system could not say where");
    }
}
