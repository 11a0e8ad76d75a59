//! A folder and everything below it as one file, a tar archive.
//!
//! It is generated while it is sent: a head, then the bytes of a file, which the
//! host sends as those of any file, then the next head. Only the current
//! position is kept, however much is in the folder. The length is announced at
//! the start; when the folder changes so that it cannot be kept, the connection
//! is closed, as for a file that changes.
//!
//! `?tar&after=NAME&count=N` is a part of it: the archive of N files that follow a
//! name, for our own downloads of folders. To the queue the parts of a folder are
//! ranges of one upload.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use core::hash::{BuildHasher as _, BuildHasherDefault};

use siphasher::sip::SipHasher13;

use super::Http;
use super::exchange::{Archive, Exchange};
use crate::id::ConnId;
use crate::node::catalog::{Catalog, Listed};
use crate::node::cx::NodeCx;
use crate::node::parts::{ArchiveFiles, BodySource, RequestSubject};
use crate::node::{ConnOutput, FileInfo, FileRef, Output, RunBit};
use crate::queue::FileKey;
use crate::wire::http::Target;
use crate::wire::percent::{self, unescape};
use crate::wire::tar::{self, TarAttributes};

/// Maximum number of files in one archive; larger folders must be downloaded
/// one subfolder at a time.
const MOST: usize = 100_000;
/// Maximum number of folders whose names are remembered.
const NAMED: usize = 1_000;

/// The answer for a folder that has more.
pub(super) const TOO_MANY: &str =
    "More than 100000 files are below this folder: take the folders in it one by one.\n";

/// A request for an archive that can, or cannot, be served.
pub(super) enum ArchiveRequest {
    Archive(RequestSubject),
    TooMany,
}

/// The query that asks for an archive.
const QUERY: &str = "tar";

/// Which files of a folder a query asks for, if it asks for an archive.
fn files_wanted(folder: &str, query: &str) -> Option<ArchiveFiles> {
    let mut pairs = query.split('&');
    if pairs.next() != Some(QUERY) {
        return None;
    }
    let value = |key: &str| pairs.clone().find_map(|pair| pair.strip_prefix(key));
    let after = value("after=").map(|name| format!("{folder}{}", unescape(name)));
    let count = value("count=").and_then(|count| count.parse().ok());
    Some(ArchiveFiles { folder: folder.into(), after, count, more: false })
}

/// The query that asks for these files.
pub(super) fn query(files: &ArchiveFiles) -> String {
    let mut query = String::from(QUERY);
    if let Some(after) = files.after.as_deref().and_then(|name| name.strip_prefix(&*files.folder)) {
        query.push_str(&format!("&after={}", percent::escape(after)));
    }
    if let Some(count) = files.count {
        query.push_str(&format!("&count={count}"));
    }
    query
}

/// The name of a file in the archive of a folder: it begins with that folder's
/// own name.
fn name_in(folder: &str, name: &str) -> String {
    let above = folder.strip_suffix('/').and_then(|folder| folder.rfind('/'));
    tar::safe(&name[above.map_or(0, |slash| slash + 1).min(name.len())..])
}

/// The file name under which the archive of a folder is to be saved.
pub(super) fn file_name(folder: &str) -> String {
    let name = folder.strip_suffix('/').unwrap_or(folder).rsplit('/').next();
    match name.filter(|name| !name.is_empty()) {
        Some(name) => format!("{name}.tar"),
        None => String::from("shared.tar"),
    }
}

/// Bytes that a file adds to an archive, besides its own.
fn around(folder: &str, file: &FileInfo) -> u64 {
    tar::head(&name_in(folder, &file.name), file.size, TarAttributes::default()).len() as u64
        + tar::padding(file.size)
}

/// The archive of a folder that a request names, if it names one.
pub(super) fn wanted(catalog: &Catalog, target: &Target) -> Option<ArchiveRequest> {
    let (folder, query) = match target {
        Target::Root { query } => ("", query),
        Target::Path { path, query } if path.ends_with('/') => (&path[..], query),
        _ => return None,
    };
    let mut files = files_wanted(folder, query)?;
    let (mut last, mut count, mut size) = (None, 0, tar::END);
    for entry in catalog.entries(folder, files.after.as_deref(), false) {
        let Listed::File(name, file) = entry else { continue };
        // Of several files with one name, the one that its URL leads to.
        if last.replace(name) == Some(name) {
            continue;
        }
        if files.count == Some(count) {
            files.more = true;
            break;
        }
        (count, size) = (count + 1, size + around(folder, file) + file.size);
        if count > MOST {
            return Some(ArchiveRequest::TooMany);
        }
    }
    last?;
    let key = BuildHasherDefault::<SipHasher13>::default().hash_one(("tar", folder));
    Some(ArchiveRequest::Archive(RequestSubject {
        body: BodySource::Folder(files),
        sha1: None,
        size,
        key: FileKey(key),
        modified: None,
        run: RunBit(false),
        tree: None,
        is_active: false,
        available: None,
    }))
}

/// The next file of an archive.
fn next<'a>(archive: &Archive, catalog: &'a Catalog) -> Option<&'a FileInfo> {
    if archive.left == Some(0) {
        return None;
    }
    let mut entries = catalog.entries(&archive.folder, archive.after.as_deref(), false);
    entries.find_map(|entry| match entry {
        Listed::File(_, file) if file.index <= archive.newest => Some(file),
        _ => None,
    })
}

/// The folders that archives were asked for of lately, for people who look at the queue.
#[derive(Debug, Clone, Default)]
pub(super) struct NamedFolders(BTreeMap<FileKey, NamedFolder>);

/// A folder that has a place in the queue, or a slot.
#[derive(Debug, Clone)]
pub(in crate::node) struct NamedFolder {
    /// Ends in `/`.
    pub(in crate::node) name: String,
    /// The files below it.
    pub(in crate::node) files: u32,
}

impl NamedFolders {
    /// Remembers what an archive is of. When it begins, its files are counted.
    pub(super) fn note(&mut self, catalog: &Catalog, subject: &RequestSubject) {
        let BodySource::Folder(files) = &subject.body else { return };
        if files.after.is_some() && self.0.contains_key(&subject.key) {
            return;
        }
        if self.0.len() >= NAMED {
            self.0.clear(); // Those that are needed come again with their next request.
        }
        let below = catalog.entries(&files.folder, None, false).take(MOST).count();
        let name = if files.folder.is_empty() { "/".into() } else { files.folder.clone() };
        let named = NamedFolder { name, files: u32::try_from(below).unwrap_or(u32::MAX) };
        self.0.insert(subject.key, named);
    }

    /// The folder with this key in the queue.
    pub(super) fn get(&self, key: FileKey) -> Option<&NamedFolder> {
        self.0.get(&key)
    }
}

impl Http {
    /// The folder that a key of the queue stands for.
    pub(in crate::node) fn folder_of(&self, key: FileKey) -> Option<&NamedFolder> {
        self.folders.get(key)
    }

    /// Continues an archive after one of its files, or begins it.
    pub(super) fn archive_on(&mut self, cx: &mut NodeCx<'_>, conn: ConnId) {
        let Some(Exchange::Sending(transfer)) = self.exchanges.get_mut(&conn) else { return };
        let end = transfer.end;
        let Some(archive) = &mut transfer.archive else { return };
        let mut data = vec![0; tar::padding(archive.size) as usize];
        let file = next(archive, &cx.shelf.files).map(|file| {
            let modified = file.modified.map_or(0, |at| at.as_micros() / 1_000_000);
            let name = name_in(&archive.folder, &file.name);
            let attributes = TarAttributes { modified, executable: file.run.0 };
            data.extend_from_slice(&tar::head(&name, file.size, attributes));
            archive.after = Some(file.name.clone());
            archive.left = archive.left.map(|left| left.saturating_sub(1));
            (file.index, file.size)
        });
        if file.is_none() {
            data.resize(data.len() + tar::END as usize, 0);
        }
        archive.before += archive.size + data.len() as u64;
        archive.size = file.map_or(0, |(_, size)| size);
        let at = archive.before + archive.size;
        let kept = if file.is_some() { at + tar::END <= end } else { at == end };
        if !kept {
            return self.close(cx, conn, false, "the folder changed while it was sent");
        }
        cx.io.write(conn, data, cx.fx);
        match file {
            Some((index, end)) => {
                let file = FileRef::Shared(index);
                cx.fx.output(Output::Connection(conn, ConnOutput::Serve { file, start: 0, end }));
            }
            None => self.all_served(cx, conn),
        }
    }
}

/// The link to the archive on the page of a folder.
pub(super) const LINK: &str =
    " <a href=\"?tar\" download rel=nofollow>Download all as one file (tar)</a>";

/// The state of sending an archive; a plain file needs none.
pub(super) fn begun(catalog: &Catalog, body: &BodySource) -> Option<Box<Archive>> {
    match body {
        BodySource::Folder(ArchiveFiles { folder, after, count, .. }) => {
            let (folder, after, newest) = (folder.clone(), after.clone(), catalog.newest());
            Some(Box::new(Archive { folder, after, left: *count, newest, before: 0, size: 0 }))
        }
        BodySource::File(_) => None,
    }
}
