//! What the user shares: as configured, and as added while the servent ran.

use std::path::{Path, PathBuf};

use super::scan::{ScanWarning, Share};
use super::{ShareError, ShareOutcome};
use crate::error::StartError;

/// All shares.
#[derive(Debug, Default)]
pub(super) struct Shares {
    /// Scanned in this order.
    present: Vec<Share>,
    /// Those that are configured, and so present at the next start too.
    named: Vec<PathBuf>,
    /// Those that were added and are currently missing; they may come back.
    absent: Vec<PathBuf>,
}

/// To what a path belongs.
#[derive(Debug)]
pub(super) enum Owner<'a> {
    /// It is not shared.
    Nothing,
    /// This share, as the path in its folder.
    Share(&'a Share, &'a Path),
    /// Several shares: which of them has a file is decided by a scan.
    Several,
}

impl Shares {
    /// Opens the configured shares and those added in an earlier run.
    ///
    /// # Errors
    /// A configured share does not exist or cannot be read.
    pub(super) fn open(named: &[PathBuf], added: &[PathBuf]) -> Result<Self, StartError> {
        let mut shares = Self::default();
        for path in named {
            let share = Share::open(path)?;
            shares.named.push(share.path());
            shares.present.push(share);
        }
        let known = |path: &PathBuf| !shares.named.contains(path);
        shares.absent = added.iter().filter(|path| known(path)).cloned().collect();
        Ok(shares)
    }

    /// The shares that are present.
    pub(super) fn present(&self) -> &[Share] {
        &self.present
    }

    /// The share to which what is at a path belongs.
    pub(super) fn owner<'a>(&'a self, path: &'a Path) -> Owner<'a> {
        // The folder of a share, or one above it, is another one now.
        let touches = |share: &Share| share.folder().starts_with(path);
        let holds = |share: &'a Share| Some((share, share.relative(path)?));
        if self.present.iter().any(touches) {
            return Owner::Several;
        }
        let mut holding = self.present.iter().filter_map(holds);
        match (holding.next(), holding.next()) {
            (None, _) => Owner::Nothing,
            (Some((share, relative)), None) => Owner::Share(share, relative),
            _ => Owner::Several,
        }
    }

    /// Checks for shares that were missing; returns a sentence for each still
    /// missing.
    pub(super) fn look_for_absent(&mut self) -> Vec<ScanWarning> {
        let Self { present, named, absent } = self;
        let mut missing = Vec::new();
        absent.retain(|path| match Share::open(path) {
            Ok(share) => {
                // It was named as it was written, and is known by where it is.
                let real = share.path();
                named.iter_mut().filter(|it| *it == path).for_each(|it| it.clone_from(&real));
                put(present, share);
                false
            }
            Err(why) => {
                missing.push(ScanWarning { path: path.clone(), text: why.to_string() });
                true
            }
        });
        missing
    }

    /// Exchanges the configured shares; those that were added stay. Returns a sentence for
    /// each that cannot be opened.
    pub(super) fn configure(&mut self, named: &[PathBuf]) -> Vec<String> {
        let former = std::mem::take(&mut self.named);
        let mut missing = Vec::new();
        for path in named {
            match Share::open(path) {
                Ok(share) => {
                    self.named.push(share.path());
                    put(&mut self.present, share);
                }
                // One that cannot be opened now is looked for again and again.
                Err(why) => {
                    missing.push(why.to_string());
                    self.named.push(path.clone());
                    if !self.absent.contains(path) {
                        self.absent.push(path.clone());
                    }
                }
            }
        }
        let gone = |path: &PathBuf| former.contains(path) && !self.named.contains(path);
        self.present.retain(|share| !gone(&share.path()));
        self.absent.retain(|path| !gone(path));
        missing
    }

    /// Adds a folder or file.
    ///
    /// # Errors
    /// It does not exist or cannot be read.
    pub(super) fn add(&mut self, path: &Path) -> Result<ShareOutcome, ShareError> {
        let share = Share::open(path).map_err(ShareError::Open)?;
        let path = share.path();
        if !put(&mut self.present, share) {
            return Ok(ShareOutcome::AsBefore);
        }
        self.absent.retain(|absent| *absent != path);
        Ok(ShareOutcome::Kept)
    }

    /// Removes a folder or file; returns its path as it was opened.
    ///
    /// # Errors
    /// It was not shared.
    pub(super) fn remove(&mut self, path: &Path) -> Result<(PathBuf, ShareOutcome), ShareError> {
        let path = dunce::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let before = self.present.len() + self.absent.len();
        self.present.retain(|share| share.path() != path);
        self.absent.retain(|absent| *absent != path);
        if self.present.len() + self.absent.len() == before {
            let shared = self.present.iter().map(Share::path).collect();
            return Err(ShareError::NotShared { path, shared });
        }
        let named = self.named.contains(&path);
        Ok((path, if named { ShareOutcome::UntilRestart } else { ShareOutcome::Kept }))
    }
}

/// Adds a share, unless it is there; false when it was.
fn put(present: &mut Vec<Share>, share: Share) -> bool {
    let is_new = present.iter().all(|it| it.path() != share.path());
    if is_new {
        present.push(share);
    }
    is_new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_that_was_away_is_known_by_where_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let (real, written) = (dir.join("disk"), dir.join("x/../disk"));
        std::fs::create_dir(dir.join("x")).unwrap();
        let mut shares = Shares::default();
        assert_eq!(shares.configure(std::slice::from_ref(&written)).len(), 1, "it is away");
        std::fs::create_dir(&real).unwrap();
        assert!(shares.configure(&[written.clone(), written]).is_empty());
        assert!(shares.look_for_absent().is_empty());
        let paths = |shares: &Shares| shares.present().iter().map(Share::path).collect::<Vec<_>>();
        assert_eq!(paths(&shares), [real], "once");
        assert!(shares.configure(&[]).is_empty());
        assert!(paths(&shares).is_empty(), "and no longer when it is not configured");
    }

    #[test]
    fn other_shares_are_configured_and_those_that_were_added_stay() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| dir.join(name));
        for folder in [&a, &b, &c] {
            std::fs::create_dir(folder).unwrap();
        }
        let mut shares = Shares::open(&[a.clone(), b.clone()], std::slice::from_ref(&c)).unwrap();
        shares.look_for_absent();
        let paths = |shares: &Shares| shares.present().iter().map(Share::path).collect::<Vec<_>>();
        assert_eq!(paths(&shares), [a, b.clone(), c.clone()]);
        assert_eq!(shares.configure(&[b.clone(), d.clone()]).len(), 1, "d is missing");
        assert_eq!(paths(&shares), [b.clone(), c.clone()]);
        std::fs::create_dir(&d).unwrap();
        assert!(shares.look_for_absent().is_empty());
        assert_eq!(paths(&shares), [b, c.clone(), d.clone()]);
        assert!(shares.configure(&[]).is_empty());
        assert_eq!(paths(&shares), [c]);
    }
}
