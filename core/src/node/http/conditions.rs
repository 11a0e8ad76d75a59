//! Conditional requests: only if the file has changed, or only if it has not
//! (RFC 9110 §13).

use alloc::format;
use alloc::string::String;

use crate::node::parts::RequestSubject;
use crate::time::Instant;
use crate::wire::http::{Headers, HttpDate};

/// The outcome of a request's conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    /// Answer as requested.
    Holds,
    /// Answer, but with the whole file: the range belongs to another version.
    Whole,
    /// The client already has this version: 304.
    NotModified,
    /// It is not the version the client expects: 412.
    Fails,
}

/// The validators of a file: they tell one version from another.
#[derive(Debug)]
pub(super) struct Validators {
    /// From the content, or from size and time of change until the content is
    /// known.
    pub(super) tag: Option<String>,
    /// The tag it had before its content was known: clients that started with
    /// that one may continue.
    former: Option<String>,
    pub(super) modified: Option<HttpDate>,
}

/// An instant in whole seconds, on a host whose time is Unix time.
pub(super) const fn date_of(at: Instant) -> HttpDate {
    HttpDate::from_unix(at.as_micros() / 1_000_000)
}

impl Validators {
    /// The validators of a file.
    pub(super) fn from_subject(subject: &RequestSubject) -> Self {
        let content = subject.sha1.map(|sha1| format!("\"{sha1}\""));
        let identity =
            subject.modified.map(|at| format!("\"{:x}-{:x}\"", subject.size, at.as_micros()));
        let modified = subject.modified.map(date_of);
        match content {
            Some(tag) => Self { tag: Some(tag), former: identity, modified },
            None => Self { tag: identity, former: None, modified },
        }
    }

    /// True when the request goes on with bytes that it got under the tag of before.
    pub(super) fn continues_former(&self, headers: &Headers) -> bool {
        let meant = headers.get("If-Range").map(str::trim_ascii);
        self.former.as_deref().zip(meant).is_some_and(|(former, meant)| former == meant)
    }

    /// The same with the tag of before, for a client that goes on with it: it must
    /// find the tag that its bytes came with, and has no way to know that the other
    /// one is of the same content.
    pub(super) fn with_former_tag(self) -> Self {
        Self { tag: self.former.or(self.tag), former: None, ..self }
    }

    /// Evaluates the conditions of a request, in the order of precedence that
    /// the RFC gives.
    pub(super) fn evaluate(&self, headers: &Headers) -> Condition {
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

    /// Any existing file matches `*`. A weak tag is good enough to avoid
    /// sending the content again, but not to combine ranges.
    fn is_among(&self, tags: &str, weak: bool) -> bool {
        tags.split(',').map(str::trim_ascii).any(|tag| {
            let tag = tag.strip_prefix("W/").filter(|_| weak).unwrap_or(tag);
            tag == "*" || self.is(tag)
        })
    }

    fn is(&self, tag: &str) -> bool {
        [&self.tag, &self.former].into_iter().flatten().any(|ours| ours == tag)
    }

    /// Whether a range of the version with this tag or date fits our version.
    fn is_meant(&self, meant: &str) -> bool {
        self.is(meant) || HttpDate::parse(meant).is_some_and(|date| self.modified == Some(date))
    }
}
