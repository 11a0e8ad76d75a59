//! The page's files: the ones packed into the program, or a folder's.

use std::io;
use std::path::{Component, Path, PathBuf};

use bytes::Bytes;

/// What `build.rs` packed: name and content.
static PACKED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// Where the page comes from.
#[derive(Debug, Clone)]
pub(crate) enum Page {
    /// From the program itself.
    Packed,
    /// From a folder, read anew for each request.
    Folder(PathBuf),
}

/// A file of the page, ready to be sent.
pub(crate) struct File {
    pub(crate) kind: &'static str,
    /// True when the bytes are compressed, as `Content-Encoding: gzip` says.
    pub(crate) gzip: bool,
    pub(crate) bytes: Bytes,
}

impl Page {
    /// The page of a folder, or the one in the program.
    pub(crate) fn new(folder: Option<PathBuf>) -> Self {
        folder.map_or(Self::Packed, Self::Folder)
    }

    /// True when there is something to show.
    pub(crate) fn exists(&self) -> bool {
        match self {
            Self::Packed => !PACKED.is_empty(),
            Self::Folder(folder) => folder.join("index.html").is_file(),
        }
    }

    /// The file of that name; the empty name is the index. Compressed when it
    /// was built so and the other side takes it so.
    pub(crate) async fn file(&self, name: &str, gzip: bool) -> Option<File> {
        let name = if name.is_empty() { "index.html" } else { name };
        if gzip && let Some(bytes) = self.bytes(&format!("{name}.gz")).await {
            return Some(File { kind: kind(name), gzip, bytes });
        }
        let bytes = self.bytes(name).await?;
        let bytes = if name == "index.html" { with_api(&bytes) } else { bytes };
        Some(File { kind: kind(name), gzip: false, bytes })
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

/// Tells the page that there is an API beside it: a page from a plain file
/// server says `none`, and asks for nothing.
fn with_api(index: &[u8]) -> Bytes {
    let text = String::from_utf8_lossy(index);
    let [none, here] = ["none", "here"].map(|is| format!("name=\"servent-api\" content=\"{is}\""));
    Bytes::from(text.replacen(&none, &here, 1))
}

/// True when an `Accept-Encoding` admits gzip.
pub(crate) fn takes_gzip(accepted: &str) -> bool {
    accepted.split(',').any(|one| {
        let (coding, weight) = one.split_once(';').unwrap_or((one, ""));
        let refused = weight.trim().strip_prefix("q=").is_some_and(|q| q.parse() == Ok(0.0_f32));
        matches!(coding.trim(), "gzip" | "*") && !refused
    })
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

/// The media type of a file by its name.
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

/// What is shown when no page was packed.
pub(crate) const MISSING: &str = "<!doctype html><meta charset=utf-8><title>Servent</title>\
<h1>The page is not in this program</h1>\
<p>Build it with <code>cargo xtask page</code> and build the program again, \
or point at a built page: <code>servent lab --www DIR</code>.</p>\
<p>What works without it: <a href=/api/info>/api/info</a>, <a href=/api/view>/api/view</a>, \
<a href=/metrics>/metrics</a>.</p>\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_was_built_compressed_is_sent_so_to_who_takes_it() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("app.js"), "plain").unwrap();
        std::fs::write(dir.path().join("app.js.gz"), "zipped").unwrap();
        std::fs::write(dir.path().join("new.js"), "plain").unwrap();
        let page = Page::new(Some(dir.path().to_owned()));
        for (name, takes, gzip, bytes) in [
            ("app.js", true, true, "zipped"),
            ("app.js", false, false, "plain"),
            ("new.js", true, false, "plain"),
        ] {
            let file = page.file(name, takes).await.unwrap();
            assert_eq!((file.gzip, &file.bytes[..]), (gzip, bytes.as_bytes()), "{name}");
            assert!(file.kind.starts_with("text/javascript"));
        }
    }

    #[test]
    fn gzip_is_taken_when_it_is_named_and_not_refused() {
        for (accepted, takes) in [
            ("gzip, deflate, br", true),
            ("br, gzip;q=0.5", true),
            ("*", true),
            ("gzip;q=0, br", false),
            ("identity", false),
            ("", false),
        ] {
            assert_eq!(takes_gzip(accepted), takes, "{accepted}");
        }
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
        let page = Page::new(Some(www));
        let index = page.file("", true).await.unwrap().bytes;
        assert_eq!(&index[..], b"<meta name=\"servent-api\" content=\"here\">");
        for name in ["../secret", "link", "/etc/passwd", "a/../../secret", "."] {
            assert!(page.file(name, true).await.is_none(), "{name}");
        }
    }
}
