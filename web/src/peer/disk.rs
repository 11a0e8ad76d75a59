//! Files of a page: those it shares, and the pieces of its downloads. What must
//! survive a reload goes through the one door, which the page opens to what its
//! browser has.

use std::collections::BTreeMap;

use js_sys::{Array, Promise, Uint8Array};
use serde::{Deserialize, Serialize};
use servent_core::fetch::StoreError;
use servent_core::id::{FetchId, FileIndex, Sha1};
use servent_core::node::{FileInfo, RunBit};
use servent_core::queue::FileKey;
use servent_core::time::Instant;
use sha1::{Digest as _, Sha1 as Hasher};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, File};

#[wasm_bindgen]
extern "C" {
    /// What keeps rows, files and pieces.
    pub(super) type Door;
    /// Saves rows, `[name, text | null]` each, all or none of them.
    #[wasm_bindgen(method)]
    pub(super) fn save(this: &Door, rows: &Array) -> Promise;
    /// Keeps the bytes of a download from `start` on, and takes them away: their
    /// buffers are empty from then on.
    #[wasm_bindgen(method)]
    pub(super) fn put(this: &Door, part: f64, start: f64, bytes: &Array) -> Promise;
    /// The SHA-1 of a download that has all its bytes.
    #[wasm_bindgen(method)]
    pub(super) fn digest(this: &Door, part: f64, size: f64) -> Promise;
    /// The SHA-1 of a file.
    #[wasm_bindgen(method)]
    pub(super) fn hash(this: &Door, file: &File) -> Promise;
    /// Deletes the bytes of a download.
    #[wasm_bindgen(method)]
    pub(super) fn forget(this: &Door, part: f64);
    /// Keeps a shared file; `undefined` to keep it no longer.
    #[wasm_bindgen(method)]
    pub(super) fn keep(this: &Door, index: u32, file: Option<&File>);
    /// Bytes that one download may have.
    #[wasm_bindgen(method)]
    pub(super) fn room(this: &Door) -> f64;
    /// The host of the room says something: `SAY` words, `RULES` or `OUT`.
    #[wasm_bindgen(method)]
    pub(super) fn told(this: &Door, what: &str, words: &str);
    /// Something has changed.
    #[wasm_bindgen(method)]
    pub(super) fn turned(this: &Door);
}

/// A download that is complete.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Done {
    /// Its number at the door.
    pub(super) part: u64,
    /// The file's name.
    pub(super) name: String,
    /// Its size in bytes.
    pub(super) size: u64,
}

/// A shared file, for the page.
#[derive(Debug, Clone, Serialize)]
pub(super) struct ShareView {
    /// Its number.
    index: u32,
    /// Its name.
    name: String,
    /// Its size in bytes.
    size: u64,
    /// Its SHA-1, once known.
    sha1: Option<String>,
}

/// The pieces of a download.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct DiskPiece {
    /// Its number at the door, which no other download ever has.
    part: u64,
    name: String,
    size: Option<u64>,
}

pub(super) struct Disk {
    pub(super) door: Door,
    shared: BTreeMap<FileIndex, (File, FileInfo)>,
    parts: BTreeMap<FetchId, DiskPiece>,
    done: BTreeMap<u64, Done>,
}

/// A row to be saved: its name and its text; without text it is deleted.
pub(super) type RowOf = (String, Option<String>);

impl Disk {
    /// With what the rows and the kept files remember.
    pub(super) fn new(door: Door, rows: &[(String, String)], files: &Array) -> Self {
        let (mut parts, mut done) = (BTreeMap::new(), BTreeMap::new());
        for (key, text) in rows {
            if let Some(fetch) = key.strip_prefix("part/").and_then(|id| id.parse().ok()) {
                parts.extend(serde_json::from_str(text).ok().map(|part| (FetchId(fetch), part)));
            } else if key.starts_with("done/") {
                let row = serde_json::from_str::<Done>(text).ok();
                done.extend(row.map(|row| (row.part, row)));
            }
        }
        let mut disk = Self { door, shared: BTreeMap::new(), parts, done };
        for pair in files.iter() {
            let pair: Array = pair.unchecked_into();
            if let (Some(index), Ok(file)) = (pair.get(0).as_f64(), pair.get(1).dyn_into()) {
                disk.add(FileIndex(index as u32), file);
            }
        }
        disk
    }

    /// A new shared file.
    pub(super) fn share(&mut self, file: File) -> FileInfo {
        let next = self.shared.last_key_value().map_or(0, |(last, _)| last.0 + 1);
        self.door.keep(next, Some(&file));
        self.add(FileIndex(next), file)
    }

    fn add(&mut self, index: FileIndex, file: File) -> FileInfo {
        let (name, size, modified) = (file.name(), file.size() as u64, file.last_modified() as u64);
        let digest = Hasher::digest(format!("{name}\0{size}\0{modified}"));
        let key = digest.iter().take(8).fold(0, |key, byte| key << 8 | u64::from(*byte));
        let modified = Some(Instant::from_micros(modified * 1_000));
        let key = FileKey(key);
        let info = FileInfo {
            index,
            name,
            size,
            sha1: None,
            key,
            modified,
            tree: None,
            run: RunBit(false),
        };
        self.shared.insert(index, (file, info.clone()));
        info
    }

    /// Forgets a shared file; false when there was none.
    pub(super) fn unshare(&mut self, index: FileIndex) -> bool {
        self.door.keep(index.0, None);
        self.shared.remove(&index).is_some()
    }

    /// A shared file whose hash is known now.
    pub(super) fn hashed(&mut self, index: FileIndex, sha1: Sha1) -> Option<FileInfo> {
        let (_, info) = self.shared.get_mut(&index)?;
        info.sha1 = Some(sha1);
        Some(info.clone())
    }

    pub(super) fn shared(&self, index: FileIndex) -> Option<&File> {
        self.shared.get(&index).map(|(file, _)| file)
    }

    /// All shared files, for the node.
    pub(super) fn infos(&self) -> Vec<FileInfo> {
        self.shared.values().map(|(_, info)| info.clone()).collect()
    }

    pub(super) fn shares(&self) -> Vec<ShareView> {
        let view = |info: &FileInfo| ShareView {
            index: info.index.0,
            name: info.name.clone(),
            size: info.size,
            sha1: info.sha1.map(|sha1| sha1.to_string()),
        };
        self.shared.values().map(|(_, info)| view(info)).collect()
    }

    pub(super) fn done(&self) -> Vec<Done> {
        self.done.values().cloned().collect()
    }

    /// Makes room for a download, under a number that is new: `now`. One that is
    /// continued keeps its own.
    pub(super) fn allocate(
        &mut self,
        fetch: FetchId,
        (name, size): (&str, Option<u64>),
        now: u64,
    ) -> RowOf {
        let new = || DiskPiece { part: now, name: name.to_owned(), size: None };
        let part = self.parts.entry(fetch).or_insert_with(new);
        part.size = size.or(part.size);
        (format!("part/{}", fetch.0), serde_json::to_string(part).ok())
    }

    /// The number at the door of a download that may be stored.
    pub(super) fn part(&self, fetch: FetchId) -> Result<u64, StoreError> {
        let part = self.parts.get(&fetch).ok_or(StoreError::Failed)?;
        let fits = part.size.is_none_or(|size| size as f64 <= self.door.room());
        if fits { Ok(part.part) } else { Err(StoreError::Full) }
    }

    /// The size of a download.
    pub(super) fn size(&self, fetch: FetchId) -> u64 {
        self.parts.get(&fetch).and_then(|part| part.size).unwrap_or(0)
    }

    /// A download is complete.
    pub(super) fn complete(&mut self, fetch: FetchId) -> Vec<RowOf> {
        let Some(DiskPiece { part, name, size }) = self.parts.remove(&fetch) else {
            return Vec::new();
        };
        let done = Done { part, name, size: size.unwrap_or(0) };
        let row = (format!("done/{part}"), serde_json::to_string(&done).ok());
        self.done.insert(part, done);
        vec![(format!("part/{}", fetch.0), None), row]
    }

    /// A download was given up: its bytes go.
    pub(super) fn give_up(&mut self, fetch: FetchId) -> Option<RowOf> {
        let part = self.parts.remove(&fetch)?;
        self.door.forget(part.part as f64);
        Some((format!("part/{}", fetch.0), None))
    }

    /// A complete download is wanted no longer.
    pub(super) fn forget(&mut self, part: u64) -> Option<RowOf> {
        self.done.remove(&part)?;
        self.door.forget(part as f64);
        Some((format!("done/{part}"), None))
    }
}

/// The bytes `start..end` of a file.
pub(super) async fn read(file: &Blob, start: u64, end: u64) -> Result<Uint8Array, JsValue> {
    let slice = file.slice_with_f64_and_f64(start as f64, end as f64)?;
    Ok(Uint8Array::new(&JsFuture::from(slice.array_buffer()).await?))
}

/// The SHA-1 that the door has answered with.
pub(super) async fn hashed(answer: Promise) -> Option<Sha1> {
    let digest: Uint8Array = JsFuture::from(answer).await.ok()?.dyn_into().ok()?;
    digest.to_vec().try_into().ok().map(Sha1)
}

/// The SHA-1 of bytes that come one after the other. For the worker behind the
/// door: what takes long is not done where the page is drawn.
#[wasm_bindgen]
#[derive(Default)]
pub struct FileHash(Hasher);

#[wasm_bindgen]
impl FileHash {
    /// Of nothing.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The SHA-1 of all of them.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.0.finalize().to_vec()
    }
}
