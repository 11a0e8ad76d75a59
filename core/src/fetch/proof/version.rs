//! Versions of a file. What a server says of the version it sends (`ETag`,
//! `Last-Modified`, `Repr-Digest`, the length, a URN) belongs to the bytes that
//! came with it: it is saved with them, sent as `If-Range`, and compared with
//! every later reply, so that bytes of two versions are never mixed.
//!
//! A server that has another version by now is kept in reserve while there are
//! others to ask. The only one is asked for the whole file again, unless the
//! user named the hash: then it does not have the file any more. Where no
//! validator vouches, every new connection proves itself by bytes that are there
//! already (`probe`), and the user is told at the end.

use alloc::string::String;
use core::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use super::doubt::Doubt;
use crate::fetch::cx::FetchCx;
use crate::fetch::download::Download;
use crate::fetch::ranges::{ByteRange, RangeSet};
use crate::fetch::reply::content_sha1;
use crate::fetch::source::SourceLink;
use crate::fetch::{Event, Output, SourceTrouble};
use crate::queue::client;
use crate::wire::http::{ContentRange, ResponseHead};

/// The longest validator that is remembered; a longer one counts as none.
const LONGEST: usize = 512;

/// What the server said of the version of the file whose bytes came first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileVersion {
    /// `ETag`.
    pub etag: Option<String>,
    /// `Last-Modified`.
    pub modified: Option<String>,
    /// `Repr-Digest` (RFC 9530), or else `Digest` (RFC 3230): of the whole file.
    pub digest: Option<String>,
    /// A source told the hash that the download must have; the user did not.
    pub learnt: bool,
    /// Bytes of several replies are joined because they overlap, and for no
    /// better reason.
    pub overlapped: bool,
    /// Whether the file may be run, as servents say.
    #[serde(default)]
    pub executable: bool,
}

/// An empty value adds nothing to the digest, so recordings made before versions
/// were compared stay valid.
impl Hash for FileVersion {
    fn hash<H: Hasher>(&self, state: &mut H) {
        [&self.etag, &self.modified, &self.digest]
            .into_iter()
            .flatten()
            .for_each(|v| v.hash(state));
    }
}

impl FileVersion {
    /// The validators of a reply.
    pub(crate) fn parse(head: &ResponseHead) -> Self {
        let text = |name| {
            let value = head.headers.get(name).map(str::trim_ascii);
            value.filter(|v| !v.is_empty() && v.len() <= LONGEST).map(String::from)
        };
        Self {
            etag: text("ETag"),
            modified: text("Last-Modified"),
            digest: text("Repr-Digest").or_else(|| text("Digest")),
            learnt: false,
            overlapped: false,
            executable: head.headers.get("X-Executable").is_some_and(|text| text.trim() == "1"),
        }
    }

    /// Pairs of what both say, as far as it can be compared.
    fn common<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let tags = self.etag.as_deref().map(opaque).zip(other.etag.as_deref().map(opaque));
        let dates = self.modified.as_deref().zip(other.modified.as_deref());
        let same_kind = |&(a, b): &(&str, &str)| algorithm(a) == algorithm(b);
        let digests = self.digest.as_deref().zip(other.digest.as_deref()).filter(same_kind);
        [tags, dates, digests].into_iter().flatten()
    }

    /// True when both give at least one validator, and the same one.
    pub(crate) fn agrees(&self, other: &Self) -> bool {
        self.common(other).any(|(a, b)| a == b)
    }

    /// True when they contradict each other. The same strong tag settles it: it
    /// is of the same bytes, whatever date the server gives today (RFC 9110
    /// §8.8.3).
    pub(crate) fn conflicts(&self, other: &Self) -> bool {
        let strong = |version: &Self| version.etag.clone().filter(|tag| tag.starts_with('"'));
        if strong(self).is_some_and(|tag| strong(other) == Some(tag)) {
            return false;
        }
        self.common(other).any(|(a, b)| a != b)
    }

    /// What goes into `If-Range`: a strong tag, or else the date (RFC 9110
    /// §13.1.5).
    pub(crate) fn if_range(&self) -> Option<&str> {
        let strong = self.etag.as_deref().filter(|tag| tag.starts_with('"'));
        strong.or(self.modified.as_deref())
    }

    /// True when there is no validator.
    pub(crate) const fn is_silent(&self) -> bool {
        self.etag.is_none() && self.modified.is_none() && self.digest.is_none()
    }
}

/// A tag without its mark of weakness: another opaque part is another version in
/// either case.
fn opaque(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag)
}

/// The algorithm of a digest.
fn algorithm(digest: &str) -> &str {
    digest.split('=').next().unwrap_or_default()
}

/// The length of the whole file, when a reply tells it.
fn total(head: &ResponseHead) -> Option<u64> {
    let range = || head.headers.get("Content-Range").and_then(ContentRange::parse);
    let plain = |name| head.headers.all(name).next().is_none();
    match head.status {
        206 | 416 => range()?.size,
        200 if plain("Transfer-Encoding") && plain("Content-Encoding") => head.content_length(),
        _ => None,
    }
}

impl Download {
    /// True when the user named the hash: no other version will do.
    pub(crate) const fn is_named(&self) -> bool {
        self.sha1.is_some() && !self.version.learnt
    }

    /// The version that a reply of this source must have; `None` when anything
    /// will do.
    pub(crate) fn expected(&self, no: u32) -> Option<&FileVersion> {
        let own = self.sources.get(&no).and_then(|src| src.version.as_ref());
        // Different servers have different tags for the same bytes.
        let first = || {
            (!self.is_named() && !self.have.is_empty() && self.only(no)).then_some(&self.version)
        };
        own.or_else(first)
    }

    /// True when a reply is about another version of the file than the one whose
    /// bytes are there, or than the one this source spoke of before.
    pub(crate) fn is_another_version(&self, no: u32, head: &ResponseHead) -> bool {
        if !matches!(head.status, 200 | 206 | 416) {
            return false;
        }
        match (self.sha1, content_sha1(head)) {
            (Some(ours), Some(theirs)) if ours == theirs => return false,
            // Of a named file, that is simply another file.
            (Some(_), Some(_)) if !self.is_named() => return true,
            _ => {}
        }
        let grown = !self.is_named()
            && self.only(no)
            && total(head).zip(self.size).is_some_and(|(told, known)| told != known);
        let reply = FileVersion::parse(head);
        grown || self.expected(no).is_some_and(|known| known.conflicts(&reply))
    }

    /// A source has another version of the file by now. True when its reply is
    /// the beginning of that, and may be taken.
    pub(crate) fn meet_another_version(
        &mut self,
        no: u32,
        head: &ResponseHead,
        cx: &mut FetchCx<'_>,
    ) -> bool {
        let why = SourceTrouble::Changed;
        if self.is_named() || self.relinked {
            self.lose(no, why, cx);
            return false;
        }
        if !self.only(no) {
            self.keep_back(no, why, cx);
            return false;
        }
        self.renewed += 1;
        if self.renewed > cx.config.attempts {
            self.lose(no, why, cx);
            return false;
        }
        let (at, dropped) = (self.sources[&no].at(), self.have.bytes());
        if dropped > 0 {
            cx.fx.event(Event::VersionChanged { fetch: self.id, at, dropped });
        }
        self.forget_version(cx);
        self.save(cx);
        let begins = || head.headers.get("Content-Range").and_then(ContentRange::parse)?.range;
        let whole = head.status == 200 || head.status == 206 && begins().is_some_and(|r| r.0 == 0);
        if whole
            && let Some(SourceLink::Asked { range, .. }) =
                self.sources.get_mut(&no).map(|s| &mut s.link)
        {
            *range = (0, u64::MAX);
            return true;
        }
        self.release(no, cx);
        self.client(no, client::Input::Want, cx);
        false
    }

    /// Forgets every byte, and all that is known of the version they are of.
    pub(crate) fn forget_version(&mut self, cx: &mut FetchCx<'_>) {
        self.leave_tree(cx);
        if self.checks.tree.is_some() {
            cx.fx.output(Output::SaveTree(self.id, None));
        }
        self.checks.forget();
        self.doubt = Doubt::default();
        if self.version.learnt {
            self.sha1 = None;
        }
        self.version = FileVersion::default();
        (self.have, self.resumed) = (RangeSet::default(), false);
        for src in self.sources.values_mut() {
            src.forget();
            (src.version, src.thex, src.asked_for_tree) = (None, None, false);
        }
        self.doubt_size();
    }

    /// Bytes of a source are accepted: what it says of them is kept.
    pub(crate) fn note_version(&mut self, no: u32, given: ByteRange, head: &ResponseHead) {
        let reply = FileVersion::parse(head);
        let vouched = self.version.agrees(&reply) || self.sha1.is_some();
        let stays = |range: &ByteRange| range.0 < given.0 || given.1 < range.1;
        if !vouched && self.have.as_slice().iter().any(stays) {
            self.version.overlapped = true;
        }
        if self.have.is_empty() {
            self.version.executable = reply.executable;
        }
        if self.version.is_silent() && self.have.is_empty() {
            let FileVersion { learnt, .. } = self.version;
            self.version = FileVersion { learnt, ..reply.clone() };
        }
        let first = (self.sha1.is_some() || self.came_alone(no)) && self.proven().is_empty();
        if let Some(src) = self.sources.get_mut(&no) {
            src.joined |= first;
            if src.version.is_none() || !reply.is_silent() {
                src.version = Some(reply);
            }
        }
    }

    /// A new connection to a source of which no validator says that it still has
    /// the same version: what it sent counts as the bytes of an earlier run, with
    /// which it is compared before it goes on.
    pub(crate) fn doubt_unvouched(&mut self, no: u32) {
        let silent = self.sha1.is_none() && self.version.is_silent() && !self.have.is_empty();
        let Some(src) = self.sources.get_mut(&no) else { return };
        src.overlapped = false;
        if silent && self.size.is_none() {
            // Bytes of a body of unknown length can only come again from the
            // beginning, and nothing could be compared before that.
            src.forget();
            self.have = RangeSet::default();
            return;
        }
        if src.joined && silent {
            src.disown();
            self.resumed = true;
        }
    }

    /// A reply without any of the validators that the first one had: the source
    /// has to prove itself before it goes on. False when it has.
    pub(crate) fn must_overlap(
        &mut self,
        no: u32,
        start: u64,
        head: &ResponseHead,
        cx: &mut FetchCx<'_>,
    ) -> bool {
        let silent = self.version.is_silent()
            || self.version.common(&FileVersion::parse(head)).next().is_some();
        if self.sha1.is_some() || silent || self.have.is_empty() || start == 0 || !self.only(no) {
            return false;
        }
        let Some(src) = self.sources.get_mut(&no).filter(|src| src.joined && !src.overlapped)
        else {
            return false;
        };
        src.overlapped = true;
        src.disown();
        self.resumed = true;
        self.release(no, cx);
        self.client(no, client::Input::Rest, cx);
        self.probe(cx);
        true
    }

    /// The end of a download of which nothing but overlapping bytes says that it
    /// is of one version.
    pub(crate) fn tell_unvouched(&self, cx: &mut FetchCx<'_>) {
        if self.version.overlapped && self.sha1.is_none() {
            cx.fx.event(Event::Unvouched { fetch: self.id });
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;
    use crate::wire::http::HeadLimits;

    fn version(fields: &str) -> FileVersion {
        let text = format!("HTTP/1.1 206 x\r\n{fields}\r\n\r\n");
        let limits = HeadLimits { bytes: 4096, lines: 20 };
        FileVersion::parse(&ResponseHead::parse(text.as_bytes(), &limits).unwrap().unwrap().0)
    }

    #[test]
    fn versions_agree_by_any_validator_and_conflict_by_any() {
        let old = version("ETag: \"a\"\r\nLast-Modified: Mon");
        let touched = version("ETag: \"b\"\r\nLast-Modified: Mon");
        assert!(old.agrees(&touched) && old.conflicts(&touched));
        assert!(!old.conflicts(&version("X: y")) && !old.agrees(&version("X: y")));
        assert!(!old.conflicts(&version("ETag: W/\"a\"")), "the same tag, weakened on its way");
        assert!(!old.conflicts(&version("ETag: \"a\"\r\nLast-Modified: Tue")), "the same bytes");
        let weak = version("ETag: W/\"a\"\r\nLast-Modified: Tue");
        assert!(old.conflicts(&weak), "a weak tag may be of other bytes");
        assert!(version("Digest: sha-256=a").conflicts(&version("Digest: sha-256=b")));
        assert!(!version("Digest: sha-256=a").conflicts(&version("Digest: md5=b")));
    }

    #[test]
    fn if_range_takes_a_strong_tag_or_else_the_date() {
        assert_eq!(version("ETag: \"a\"\r\nLast-Modified: Mon").if_range(), Some("\"a\""));
        assert_eq!(version("ETag: W/\"a\"\r\nLast-Modified: Mon").if_range(), Some("Mon"));
        assert_eq!(version("ETag: W/\"a\"").if_range(), None);
        assert!(version(&format!("ETag: \"{}\"", "a".repeat(600))).is_silent());
    }
}
