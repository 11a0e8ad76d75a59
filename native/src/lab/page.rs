//! The page's files: embedded in the program, or from a folder.

use std::io;
use std::path::{Component, Path, PathBuf};

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

/// What `build.rs` embedded: name and content.
static PACKED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// The origin of the page.
#[derive(Debug, Clone)]
pub(crate) enum PageOrigin {
    /// From the program itself.
    Packed,
    /// From a folder, read again for each request.
    Folder(PathBuf),
}

/// A file of the page, ready to be served.
pub(crate) struct PageFile {
    pub(crate) kind: &'static str,
    pub(crate) bytes: Bytes,
    /// The SHA-256 of the import map, which is inline in the index.
    pub(crate) script: Option<Vec<u8>>,
}

/// The page that is in this program, by the names of its files; empty without one.
pub(crate) fn packed_page() -> &'static [(&'static str, &'static [u8])] {
    PACKED
}

impl PageOrigin {
    /// The page in a folder, or the embedded one.
    pub(crate) fn new(folder: Option<PathBuf>) -> Self {
        folder.map_or(Self::Packed, Self::Folder)
    }

    /// True when there is a page to serve.
    pub(crate) fn exists(&self) -> bool {
        match self {
            Self::Packed => !PACKED.is_empty(),
            Self::Folder(folder) => folder.join("index.html").is_file(),
        }
    }

    /// The file of that name; the empty name is the index, which says that it
    /// is that of a `room`.
    pub(crate) async fn file(&self, name: &str, room: bool) -> Option<PageFile> {
        let name = if name.is_empty() { "index.html" } else { name };
        let bytes = self.bytes(name).await?;
        if name != "index.html" {
            return Some(PageFile { kind: kind(name), bytes, script: None });
        }
        let index = with_api(&String::from_utf8_lossy(&bytes), room);
        let script = import_map(&index).map(|map| Sha256::digest(map).to_vec());
        Some(PageFile { kind: kind(name), bytes: Bytes::from(index), script })
    }

    async fn bytes(&self, name: &str) -> Option<Bytes> {
        match self {
            Self::Packed => {
                let (_, bytes) = PACKED.iter().find(|(packed, _)| *packed == name)?;
                Some(Bytes::from_static(bytes))
            }
            Self::Folder(folder) => Some(Bytes::from(read(folder, name).await.ok()?)),
        }
    }
}

/// Marks the page as served with an API, and in a room: a page from a plain file
/// server says `none` and makes no API requests.
fn with_api(index: &str, room: bool) -> String {
    let here = if room { "room" } else { "here" };
    let [none, here] = ["none", here].map(|is| format!("name=\"servent-api\" content=\"{is}\""));
    index.replacen(&none, &here, 1)
}

/// The import map in the index.
fn import_map(index: &str) -> Option<&str> {
    let (_, rest) = index.split_once("<script type=\"importmap\">")?;
    rest.split_once("</script>").map(|(map, _)| map)
}

/// Reads a file below `folder`; a name that leads out of it is not found.
async fn read(folder: &Path, name: &str) -> io::Result<Vec<u8>> {
    let relative = Path::new(name);
    if !relative.components().all(|c| matches!(c, Component::Normal(_))) {
        return Err(io::ErrorKind::NotFound.into());
    }
    let path = tokio::fs::canonicalize(folder.join(relative)).await?;
    if !path.starts_with(tokio::fs::canonicalize(folder).await?) {
        return Err(io::ErrorKind::NotFound.into());
    }
    tokio::fs::read(path).await
}

/// The media type for a file name.
fn kind(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("wasm") => "application/wasm",
        Some("json" | "webmanifest") => "application/json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("woff2") => "font/woff2",
        _ => "application/octet-stream",
    }
}

/// The response when no page was embedded.
pub(crate) const MISSING: &str = "<!doctype html><meta charset=utf-8><title>Servent</title>\
<h1>The page is not in this program</h1>\
<p>Build it with <code>cargo xtask page</code> and build the program again, \
or point at a built page: <code>servent lab --www DIR</code>.</p>\
<p>What works without it: <a href=/api/info>/api/info</a>, <a href=/api/view>/api/view</a>, \
<a href=/metrics>/metrics</a>.</p>\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_in_the_index_admits_its_import_map_and_no_other_script() {
        let index = include_str!("../../../www/index.html");
        let hash = data_encoding::BASE64.encode(&Sha256::digest(import_map(index).unwrap()));
        assert!(index.contains(&format!("'sha256-{hash}'")), "the index must say sha256-{hash}");
        let inline = index.split("<script").skip(1).filter(|tag| {
            let attributes = tag.split('>').next().unwrap_or_default();
            !attributes.contains(" src=")
        });
        assert_eq!(inline.count(), 1, "the import map is the only script in the index itself");
    }

    #[tokio::test]
    async fn a_name_never_leads_out_of_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        let www = dir.path().join("www");
        std::fs::create_dir(&www).unwrap();
        std::fs::write(dir.path().join("secret"), "s").unwrap();
        let index = "<meta name=\"servent-api\" content=\"none\">";
        std::fs::write(www.join("index.html"), index).unwrap();
        std::os::unix::fs::symlink(dir.path().join("secret"), www.join("link")).unwrap();
        let page = PageOrigin::new(Some(www));
        let index = page.file("", false).await.unwrap().bytes;
        assert_eq!(&index[..], b"<meta name=\"servent-api\" content=\"here\">");
        for name in ["../secret", "link", "/etc/passwd", "a/../../secret", "."] {
            assert!(page.file(name, false).await.is_none(), "{name}");
        }
    }
}
