//! Scanning the shared folders. Only names and metadata; content is read later.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use notify::RecursiveMode;

use crate::error::StartError;
use crate::files::FileAttributes;
use crate::store::FileIdentity;
use crate::sys::{Root, file_number, modified, names_of};

/// How deep folders may be nested.
const DEPTH: usize = 64;
/// Warnings kept of all scans.
pub(super) const WARNINGS: usize = 64;

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
    pub(super) identity: Option<FileIdentity>,
}

impl ScannedFile {
    /// What its metadata say of a file below a share's folder, with its name in URLs.
    pub(super) fn from_metadata(
        root: Arc<Root>,
        (relative, name): (PathBuf, String),
        meta: &fs::Metadata,
    ) -> Self {
        let executable = FileAttributes::of_file(meta).executable;
        let (size, mtime, identity) = (meta.len(), mtime(meta), identity(meta));
        Self { root, name, relative, size, mtime, executable, identity }
    }
}

/// A file or folder that is not shared, and why.
#[derive(Debug)]
pub(super) struct ScanWarning {
    /// Where the reason is; empty when it is not at one place.
    pub(super) path: PathBuf,
    pub(super) text: String,
}

/// The result of a scan.
#[derive(Debug, Default)]
pub(super) struct FolderScan {
    pub(super) files: Vec<ScannedFile>,
    pub(super) warnings: Vec<ScanWarning>,
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
        let whole = dunce::canonicalize(path).map_err(failed)?;
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

    /// What is at `path`, as a path in the share's folder, if it is shared.
    pub(super) fn relative<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        let relative = path.strip_prefix(self.root.path()).ok()?;
        self.only.as_ref().is_none_or(|only| only == relative).then_some(relative)
    }

    /// The folder that it is, or in which it is.
    pub(super) fn folder(&self) -> &Path {
        self.root.path()
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
            walk.warn(Path::new(""), format!("only the first {most} files are shared"));
        }
        walk.name_hard_links();
        walk
    }

    /// Finds what is at `relative` in a share now: a file, a folder with at most
    /// `most` files, or nothing.
    pub(super) fn at(share: &Share, relative: &Path, most: usize) -> Self {
        let mut walk = Self::default();
        let root = &share.root;
        // As a whole scan would not come to it either.
        let names = relative.iter().map(OsStr::to_str);
        let Some(names) = names.collect::<Option<Vec<_>>>() else {
            let path = root.path().join(relative);
            if path.symlink_metadata().is_ok() {
                walk.warn(&path, format!("{} has a name that is not UTF-8", path.display()));
            }
            return walk;
        };
        if names.iter().any(|name| is_left_out(name)) {
            return walk;
        }
        let above = match &share.only {
            Some(_) => None,
            None => root.path().file_name().and_then(OsStr::to_str),
        };
        let name = above.into_iter().chain(names.iter().copied()).collect::<Vec<_>>().join("/");
        match root.path().join(relative).symlink_metadata() {
            Ok(meta) if meta.is_dir() => {
                walk.folder(root, (relative.to_owned(), name), names.len(), most);
            }
            Ok(meta) if meta.is_file() || meta.is_symlink() => {
                walk.file(root, relative.to_owned(), name);
            }
            _ => {}
        }
        walk
    }

    /// True when one of the files has several names, which may be anywhere.
    pub(super) fn has_links(&self) -> bool {
        !self.linked.is_empty()
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
            let text = format!("{} is too deep and is not shared", path.display());
            return self.warn(&path, text);
        }
        let mut entries: Vec<fs::DirEntry> = match fs::read_dir(&path) {
            Ok(entries) => entries.filter_map(Result::ok).collect(),
            Err(why) => {
                return self.warn(&path, format!("cannot read {}: {why}", path.display()));
            }
        };
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            if self.files.len() >= most {
                return;
            }
            let own = entry.file_name();
            let Some(text) = own.to_str() else {
                let path = entry.path();
                self.warn(&path, format!("{} has a name that is not UTF-8", path.display()));
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
                let (names, number) = (names_of(&meta), file_number(&meta));
                if let (2.., Some(number)) = (names, number) {
                    let linked = Linked { names, found: 0, path };
                    self.linked.entry(number).or_insert(linked).found += 1;
                }
                let root = Arc::clone(root);
                self.files.push(ScannedFile::from_metadata(root, (relative, name), &meta));
            }
            Err(why) => {
                let what = match why.kind() {
                    ErrorKind::CrossesDevices => "it is a link that leads out of the folder".into(),
                    ErrorKind::NotFound => "it is a link to nothing".into(),
                    ErrorKind::PermissionDenied => "we may not read it".into(),
                    _ => why.to_string(),
                };
                self.warn(&path, format!("{} is not shared: {what}", path.display()));
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
            let text = format!(
                "{count} {these} a name outside of what is shared, too (a hard link): {path}"
            );
            self.warn(Path::new(""), text);
        }
    }

    fn warn(&mut self, path: &Path, text: String) {
        if self.warnings.len() < WARNINGS {
            self.warnings.push(ScanWarning { path: path.to_owned(), text });
        }
    }
}

/// True for hidden files and unfinished downloads.
fn is_left_out(name: &str) -> bool {
    name.starts_with('.') || name.ends_with(".part")
}

/// Which file it is, whatever its path, if the file system tells.
fn identity(meta: &fs::Metadata) -> Option<FileIdentity> {
    let born = meta.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let born = i64::try_from(born.as_nanos()).ok()?;
    let (device, inode) = file_number(meta)?;
    Some(FileIdentity { device, inode, born })
}

/// The modification time in nanoseconds since the epoch.
pub(super) fn mtime(meta: &fs::Metadata) -> i64 {
    let (seconds, nanos) = modified(meta);
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}
