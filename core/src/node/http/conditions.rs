//! Requests with a condition: only if the file is another, only if it is
//! still the same (RFC 9110 §13).

use alloc::format;
use alloc::string::String;

use crate::node::parts::Subject;
use crate::time::Instant;
use crate::wire::http::{Headers, HttpDate};

/// What the conditions of a request come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    /// Answer as asked.
    Holds,
    /// Answer, but with the whole file: the range was meant for another one.
    Whole,
    /// The client has it already: 304.
    NotModified,
    /// It is not the file that was meant: 412.
    Fails,
}

/// What tells a file from what it was, or will be.
#[derive(Debug)]
pub(super) struct Validators {
    /// From the content, or until that is known from size and time of change.
    pub(super) tag: Option<String>,
    /// The tag it had before its content was known: whoever began with that
    /// one goes on.
    former: Option<String>,
    pub(super) modified: Option<HttpDate>,
}

/// The second a moment lies in, on a host that counts from the Unix epoch.
pub(super) const fn date_of(at: Instant) -> HttpDate {
    HttpDate::from_unix(at.as_micros() / 1_000_000)
}

impl Validators {
    /// Those of a file.
    pub(super) fn of(subject: &Subject) -> Self {
        let content = subject.sha1.map(|sha1| format!("\"{sha1}\""));
        let identity =
            subject.modified.map(|at| format!("\"{:x}-{:x}\"", subject.size, at.as_micros()));
        let modified = subject.modified.map(date_of);
        match content {
            Some(tag) => Self { tag: Some(tag), former: identity, modified },
            None => Self { tag: identity, former: None, modified },
        }
    }

    /// What a request asks for under which condition, in the order in which
    /// the conditions count.
    pub(super) fn judge(&self, headers: &Headers) -> Condition {
        let date = |name| headers.get(name).and_then(HttpDate::parse);
        let same = match headers.get("If-Match") {
            Some(_) => self.is_among(&headers.joined("If-Match"), false),
            None => date("If-Unmodified-Since").is_none_or(|then| !self.changed_after(then)),
        };
        if !same {
            return Condition::Fails;
        }
        let known = match headers.get("If-None-Match") {
            Some(_) => self.is_among(&headers.joined("If-None-Match"), true),
            None => date("If-Modified-Since")
                .is_some_and(|then| self.modified.is_some() && !self.changed_after(then)),
        };
        if known {
            return Condition::NotModified;
        }
        match headers.get("If-Range") {
            Some(meant) if !self.is_meant(meant.trim_ascii()) => Condition::Whole,
            _ => Condition::Holds,
        }
    }

    fn changed_after(&self, then: HttpDate) -> bool {
        self.modified.is_some_and(|at| at > then)
    }

    /// A file that is here matches `*`. A weak tag names our content well
    /// enough not to send it again, but not well enough to join pieces.
    fn is_among(&self, tags: &str, weak: bool) -> bool {
        tags.split(',').map(str::trim_ascii).any(|tag| {
            let tag = tag.strip_prefix("W/").filter(|_| weak).unwrap_or(tag);
            tag == "*" || self.is(tag)
        })
    }

    fn is(&self, tag: &str) -> bool {
        [&self.tag, &self.former].into_iter().flatten().any(|ours| ours == tag)
    }

    /// Whether a piece that begins with this tag or date goes on in our file.
    fn is_meant(&self, meant: &str) -> bool {
        self.is(meant) || HttpDate::parse(meant).is_some_and(|date| self.modified == Some(date))
    }
}
