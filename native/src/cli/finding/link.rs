//! Links that lead through a meeting place, such as `meet://CODE@HOST/PATH`: to what a servent
//! shares there, and to a sender that several receivers come to.

use std::fmt;

use servent::transfer::TransferCode;

use super::via::check_place;
use crate::cli::carry::code;
use crate::exit::Failure;

/// What a link begins with.
pub(crate) const SCHEME: &str = "meet://";

/// Where a link leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MeetLink {
    /// The meeting place, as the user named it.
    pub(crate) place: String,
    pub(crate) code: TransferCode,
}

impl MeetLink {
    /// What stands behind the scheme, if the text is a link.
    pub(crate) fn behind_scheme(text: &str) -> Option<&str> {
        let begins = text.get(..SCHEME.len())?.eq_ignore_ascii_case(SCHEME);
        begins.then(|| &text[SCHEME.len()..])
    }

    /// Reads a link behind its scheme: where it leads, and the path there. A link without a
    /// code has that of the environment.
    ///
    /// # Errors
    /// It has no code, or names no place.
    pub(crate) fn read(rest: &str) -> Result<(Self, &str), Failure> {
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (code, place) = match host.rsplit_once('@') {
            Some((code, place)) => (Some(code::read(code, "the code of the link")?), place),
            None => (code::of_environment()?, host),
        };
        let code = code.ok_or_else(|| {
            Failure::usage("the link has no code")
                .next("take the whole link that the other side prints, or set SERVENT_CODE")
        })?;
        if place.is_empty() {
            return Err(Failure::usage("the link names no meeting place"));
        }
        check_place(place)?;
        let link = Self { place: place.to_owned(), code };
        Ok((link, if path.is_empty() { "/" } else { path }))
    }
}

impl fmt::Display for MeetLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}@{}", self.code, self.place)
    }
}
