//! Scanning the shared folders. Only names and metadata; content is read later.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use notify::RecursiveMode;
use rustix::io::Errno;

use super::beneath::Root;
use crate::error::StartError;
use crate::files::FileAttributes;

/// How deep folders may be nested.
const DEPTH: usize = 64;
/// Warnings kept per scan.
const WARNINGS: usize = 64;

/// What the user shares: a folder, or one file of a folder.
#[derive(Debug, Clone)]
pub(super) struct Share {
    root: Arc<Root>,
    only: Option<PathBuf>,
}

/// A file that was found.
#[derive(Debug, Clone)]
pub(super) struct ScannedFile {
    pub(super) root: Arc<Root>,
    /// Its name in URLs, including its folders.
    pub(super) name: String,
    pub(super) relative: PathBuf,
    pub(super) size: u64,
    pub(super) mtime: i64,
    pub(super) executable: bool,
}

/// The result of a scan.
#[derive(Debug, Default)]
pub(super) struct FolderScan {
    pub(super) files: Vec<ScannedFile>,
    pub(super) warnings: Vec<String>,
    linked: BTreeMap<Inode, Linked>,
}

/// A file on disk, independent of its names: device and inode.
type Inode = (u64, u64);

/// A file with several names (hard links).
#[derive(Debug)]
struct Linked {
    names: u64,
    found: u64,
    /// One of them.
    path: PathBuf,
}

impl Share {
    /// Opens what the user named.
    ///
    /// # Errors
    /// It does not exist or cannot be read.
    pub(super) fn open(path: &Path) -> Result<Self, StartError> {
        let failed = |why| StartError::Share { path: path.to_owned(), why };
        let meta = fs::metadata(path).map_err(failed)?;
        if meta.is_dir() {
            fs::read_dir(path).map_err(failed)?;
            let root = Root::open(path).map_err(failed)?;
            return Ok(Self { root: Arc::new(root), only: None });
        }
        let whole = path.canonicalize().map_err(failed)?;
        let (Some(dir), Some(name)) = (whole.parent(), whole.file_name()) else {
            return Err(failed(io::ErrorKind::InvalidInput.into()));
        };
        let root = Root::open(dir).map_err(failed)?;
        root.open_file(Path::new(name)).map_err(failed)?;
        Ok(Self { root: Arc::new(root), only: Some(name.into()) })
    }

    /// The folder to watch, and whether recursively.
    pub(super) fn watched(&self) -> (PathBuf, RecursiveMode) {
        let below = if self.only.is_none() {
            RecursiveMode::Recursive
        } else {
            RecursiveMode::NonRecursive
        };
        (self.root.path().to_owned(), below)
    }

    /// Its real path.
    pub(super) fn path(&self) -> PathBuf {
        let root = self.root.path();
        self.only.as_ref().map_or_else(|| root.to_owned(), |name| root.join(name))
    }
}

impl FolderScan {
    /// Finds at most `most` files, in order of their names.
    pub(super) fn over(shares: &[Share], most: usize) -> Self {
        let mut walk = Self::default();
        for share in shares {
            match &share.only {
                Some(name) => {
                    walk.file(&share.root, name.clone(), name.to_string_lossy().into_owned())
                }
                None => {
                    let name = share.root.path().file_name().unwrap_or_default();
                    let name = name.to_string_lossy().into_owned();
                    walk.folder(&share.root, (PathBuf::new(), name), 0, most);
                }
            }
        }
        if walk.files.len() >= most {
            walk.warn(format!("only the first {most} files are shared"));
        }
        walk.name_hard_links();
        walk
    }

    fn folder(
        &mut self,
        root: &Arc<Root>,
        (relative, name): (PathBuf, String),
        depth: usize,
        most: usize,
    ) {
        let path = root.path().join(&relative);
        if depth > DEPTH {
            return self.warn(format!("{} is too deep and is not shared", path.display()));
        }
        let mut entries: Vec<fs::DirEntry> = match fs::read_dir(&path) {
            Ok(entries) => entries.filter_map(Result::ok).collect(),
            Err(why) => return self.warn(format!("cannot read {}: {why}", path.display())),
        };
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            if self.files.len() >= most {
                return;
            }
            let own = entry.file_name();
            let Some(text) = own.to_str() else {
                self.warn(format!("{} has a name that is not UTF-8", entry.path().display()));
                continue;
            };
            if is_left_out(text) {
                continue;
            }
            let inside = relative.join(&own);
            // The root of the file system has no name.
            let called = if name.is_empty() { text.to_owned() } else { format!("{name}/{text}") };
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => self.folder(root, (inside, called), depth + 1, most),
                Ok(kind) if kind.is_file() || kind.is_symlink() => self.file(root, inside, called),
                _ => {}
            }
        }
    }

    fn file(&mut self, root: &Arc<Root>, relative: PathBuf, name: String) {
        let path = root.path().join(&relative);
        match root.open_file(&relative).and_then(|file| file.metadata()) {
            Ok(meta) => {
                if meta.nlink() > 1 {
                    let linked = Linked { names: meta.nlink(), found: 0, path };
                    self.linked.entry((meta.dev(), meta.ino())).or_insert(linked).found += 1;
                }
                let (size, mtime) = (meta.len(), mtime(&meta));
                let executable = FileAttributes::of_file(&meta).executable;
                self.files.push(ScannedFile {
                    root: Arc::clone(root),
                    name,
                    relative,
                    size,
                    mtime,
                    executable,
                });
            }
            Err(why) => {
                let what = match Errno::from_io_error(&why) {
                    Some(Errno::XDEV) => "it is a link that leads out of the folder".into(),
                    Some(Errno::NOENT) => "it is a link to nothing".into(),
                    Some(Errno::ACCESS) => "we may not read it".into(),
                    _ => why.to_string(),
                };
                self.warn(format!("{} is not shared: {what}", path.display()));
            }
        }
    }

    /// Warns of files with hard links elsewhere: a user who can write to such a
    /// name changes what is shared here.
    fn name_hard_links(&mut self) {
        let outside = self.linked.values().filter(|file| file.found < file.names);
        let (count, one) = (outside.clone().count(), outside.map(|file| &file.path).next());
        if let Some(path) = one {
            let (these, path) =
                (if count == 1 { "file has" } else { "files have" }, path.display());
            self.warn(format!(
                "{count} {these} a name outside of what is shared, too (a hard link): {path}"
            ));
        }
    }

    fn warn(&mut self, text: String) {
        if self.warnings.len() < WARNINGS {
            self.warnings.push(text);
        }
    }
}

/// True for hidden files and unfinished downloads.
fn is_left_out(name: &str) -> bool {
    name.starts_with('.') || name.ends_with(".part")
}

/// The modification time in nanoseconds since the epoch.
pub(super) fn mtime(meta: &fs::Metadata) -> i64 {
    meta.mtime().saturating_mul(1_000_000_000).saturating_add(meta.mtime_nsec())
}
