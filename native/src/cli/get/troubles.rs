//! What `servent get` reports about problems and at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::SocketAddr;
use std::path::Path;

use serde_json::json;
use servent::driver::Handle;
use servent::{Distrust, DistrustKind};
use servent_core::fetch::{self, FetchFailure, SourceTrouble};
use servent_core::id::FetchId;
use servent_core::node::{FetchView, StoreError};

use super::job::Whole;
use crate::cli::print;
use crate::exit::{Exit, Failure};
use crate::progress::{Voice, bytes, eprint_line, length};
use servent_core::text::Lines;
use servent_core::time::Instant;

/// What is said of a file whose parts nothing but overlapping bytes holds together.
pub(super) const UNVOUCHED: &str = "nothing but its length and overlapping bytes says that all of it is of one version; the server names none";

/// The last problem of each source of each download, because an earlier
/// download of the same name may still exist.
#[derive(Default)]
pub(super) struct SourceTroubles {
    last: BTreeMap<(FetchId, SocketAddr), Trouble>,
    /// The HTTP status of each source's last reply, until its meaning is noted.
    status: BTreeMap<(FetchId, SocketAddr), u16>,
    /// Downloads of which bytes are here.
    kept: BTreeSet<FetchId>,
    /// Where each source has sent us last.
    sent: BTreeMap<(FetchId, SocketAddr), String>,
}

/// What is wrong with a source, and the HTTP status that said so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Trouble {
    why: SourceTrouble,
    status: Option<u16>,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.why)?;
        self.status.map_or(Ok(()), |status| write!(f, " (HTTP status {status})"))
    }
}

/// True when the `first` bytes of a download include wrong ones.
pub(super) const fn is_corrupt(event: &fetch::Event, first: u64) -> bool {
    match event {
        fetch::Event::Corrupt { .. } => true,
        fetch::Event::VersionChanged { .. } => first > 0,
        fetch::Event::PieceWrong { start, .. } => *start < first,
        _ => false,
    }
}

impl SourceTroubles {
    /// Notes what has happened; returns the sentence, if it is new.
    pub(super) fn note(
        &mut self,
        now: Instant,
        event: &fetch::Event,
    ) -> Option<(FetchId, SocketAddr, String)> {
        if let fetch::Event::Begun { fetch, have: 1.., .. } | fetch::Event::Stored { fetch, .. } =
            event
        {
            self.kept.insert(*fetch);
            return None;
        }
        let (fetch, at, why, ask_at) = match event {
            fetch::Event::Waiting { fetch, at, why, ask_at } => (*fetch, *at, *why, Some(*ask_at)),
            fetch::Event::Moved { fetch, at, to } => {
                return self.is_sent(*fetch, *at, to).then(|| (*fetch, *at, moved(to)));
            }
            fetch::Event::Status { fetch, at, status } => {
                self.status.insert((*fetch, *at), *status);
                return None;
            }
            fetch::Event::VersionChanged { fetch, at, dropped } => {
                return Some((*fetch, *at, renewed(*dropped)));
            }
            fetch::Event::KeptBack { fetch, at, why }
            | fetch::Event::SourceLost { fetch, at, why, .. } => (*fetch, *at, *why, None),
            _ => return None,
        };
        let mut trouble = Trouble { why, status: self.status.remove(&(fetch, at)) };
        // That it is given up now does not say why.
        let before = self.last.get(&(fetch, at)).filter(|before| before.why == why);
        trouble.status = trouble.status.or(before.and_then(|before| before.status));
        if self.last.insert((fetch, at), trouble) == Some(trouble) {
            return None;
        }
        let again = ask_at.map(|ask_at| ask_at.since(now).as_secs_ceil());
        let again = again.map_or_else(String::new, |s| format!("; asking again in {}", length(s)));
        Some((fetch, at, format!("{trouble}{again}")))
    }

    /// True when nothing is known to be wrong with any source.
    pub(super) fn is_silent(&self, fetch: FetchId) -> bool {
        !self.last.keys().any(|(of, _)| *of == fetch)
    }

    /// True when a source has another file than the one of which bytes are here.
    pub(super) fn is_another(&self, fetch: FetchId) -> bool {
        use SourceTrouble::{Changed, LengthLie, Unlike};
        let mut ours = self.last.iter().filter(|((of, _), _)| *of == fetch);
        ours.any(|(_, trouble)| matches!(trouble.why, Changed | LengthLie | Unlike))
    }

    /// A download has ended.
    pub(super) fn forget(&mut self, fetch: FetchId) {
        self.last.retain(|(of, _), _| *of != fetch);
        self.status.retain(|(of, _), _| *of != fetch);
        self.sent.retain(|(of, _), _| *of != fetch);
        self.kept.remove(&fetch);
    }

    /// Notes that a source redirects us; false when it has sent us there before, as a
    /// member of a site does whenever it is asked.
    pub(super) fn is_sent(&mut self, fetch: FetchId, at: SocketAddr, to: &str) -> bool {
        self.sent.insert((fetch, at), to.to_owned()).as_deref() != Some(to)
    }

    /// Why the download failed, and what to do about it.
    pub(super) fn failed(
        &self,
        fetch: FetchId,
        why: FetchFailure,
        file: &Path,
        handle: &Handle,
    ) -> Failure {
        let ours = self.last.iter().filter(|((of, _), _)| *of == fetch);
        let ours: Vec<(SocketAddr, Trouble)> = ours.map(|((_, at), why)| (*at, *why)).collect();
        let tried = tried(&ours, handle);
        let failure = match why {
            FetchFailure::NoSource => no_source(&ours, &tried, self.kept.contains(&fetch), handle),
            FetchFailure::Disk => not_written(file, handle.disk_trouble()),
            FetchFailure::Corrupt => {
                let what = format!("the bytes are not the file asked for{tried}");
                Failure::new(Exit::Unverified, what).next("try another source")
            }
            FetchFailure::TooMany => Failure::new(Exit::Failed, "too many downloads at once")
                .next("raise fetch.fetches with --set"),
            FetchFailure::Cancelled => {
                Failure::new(Exit::Interrupted, "the download was taken back")
            }
        };
        failure.with_status(ours.iter().find_map(|(_, one)| one.status))
    }
}

/// What helps when no server answers.
const UNREACHED: &str = "check the address and that a servent listens there; with --wait it keeps trying; the same command goes on";
/// What helps when a share is private.
const WHO: &str = "say who you are with --user NAME; the password is asked for, or read from SERVENT_PASSWORD or --password-file";
/// What helps when a proxy is.
const WHO_TO_A_PROXY: &str =
    "write them into the variable that names it: http://NAME:PASSWORD@HOST:PORT";
/// What helps when a server calls a request a bad one.
const BAD_REQUEST: &str = "check the URL; if that port wants TLS, it begins with https://";

/// Why no source gave the file: what is `tried` says what is wrong with each.
fn no_source(ours: &[(SocketAddr, Trouble)], tried: &str, kept: bool, handle: &Handle) -> Failure {
    use SourceTrouble::{Busy, Mismatch, NotFound, Private, SpeaksTls, Unreachable};
    let kept = if kept { "; what has come is kept, the same command goes on" } else { "" };
    let first = ours.first().map(|(_, one)| *one);
    // What is wrong with all of them.
    let why = first.map(|one| one.why).filter(|why| ours.iter().all(|(_, one)| one.why == *why));
    let refuses = |one: &Trouble| one.status.is_some_and(|status| (400..500).contains(&status));
    let refused = first.is_some() && ours.iter().all(|(_, one)| refuses(one));
    let bad = refused && ours.iter().all(|(_, one)| one.status == Some(400));
    let exit = if refused { Exit::Refused } else { Exit::Network };
    let (exit, what, next) = match why {
        Some(Unreachable) => (Exit::Network, "no server answers", UNREACHED.to_owned()),
        Some(NotFound) => (exit, "no source has the file", look_there(ours, handle)),
        Some(Private) if handle.has_credentials() => (
            exit,
            "the server does not take this name and password",
            String::from("check both, and whether this user may have the file"),
        ),
        Some(Private) => (exit, "the share is private", WHO.to_owned()),
        _ if asked_by_a_proxy(ours) => {
            (exit, "the proxy wants a name and a password", WHO_TO_A_PROXY.to_owned())
        }
        Some(SpeaksTls) => (
            Exit::Network,
            "no server answers without TLS",
            String::from("write https:// instead of http://"),
        ),
        Some(Busy) => (
            Exit::Network,
            "every source is busy",
            format!("try again later; without --tries it waits{kept}"),
        ),
        Some(Mismatch) => (
            Exit::Unverified,
            "the bytes are not the file asked for",
            format!("the file may have been changed while it was sent{kept}"),
        ),
        _ if bad => (exit, "every source refuses", BAD_REQUEST.to_owned()),
        _ if refused => (
            exit,
            "every source refuses",
            format!("check the URL and whether you may have the file{kept}"),
        ),
        _ => (
            exit,
            "no source gave the file",
            format!("check that the server runs and the URL is right{kept}"),
        ),
    };
    Failure::new(exit, format!("{what}{tried}")).next(next)
}

/// Where to look for a file that no source has.
fn look_there(ours: &[(SocketAddr, Trouble)], handle: &Handle) -> String {
    let direct = ours.iter().map(|(at, _)| at).filter(|at| !handle.is_proxy(**at));
    let lists: Vec<String> = direct.map(|at| handle.list_of(*at)).collect();
    match &lists[..] {
        [] => String::from("check the URL"),
        lists => format!("look what is shared there: {}", lists.join(" and ")),
    }
}

/// What a proxy answers by itself: it wants to know who we are, or does not reach the
/// server (RFC 9110 §15.5.8, §15.6.3, §15.6.5).
const OF_A_PROXY: [u16; 3] = [407, 502, 504];

/// What is wrong with each source, as the end of a sentence.
fn tried(ours: &[(SocketAddr, Trouble)], handle: &Handle) -> String {
    let who = |(at, trouble): &(SocketAddr, Trouble)| match trouble.status {
        _ if !handle.is_proxy(*at) => "",
        Some(status) if !OF_A_PROXY.contains(&status) => "the server behind the proxy ",
        _ => "the proxy ",
    };
    let tried: Vec<String> =
        ours.iter().map(|one| format!("{}{} {}", who(one), one.0, one.1)).collect();
    if tried.is_empty() { String::new() } else { format!(": {}", tried.join(", ")) }
}

/// True when proxies want to know who we are (RFC 9110 §15.5.8).
fn asked_by_a_proxy(ours: &[(SocketAddr, Trouble)]) -> bool {
    !ours.is_empty() && ours.iter().all(|(_, one)| one.status == Some(407))
}

/// A source redirects us. A member of a site names only the other one; the file has
/// the same name there.
pub(super) fn moved(to: &str) -> String {
    let member = to.strip_prefix("//").and_then(|to| to.split('/').next());
    format!("sends us to {}", member.unwrap_or(to))
}

/// The file has become another one while it was downloaded.
fn renewed(dropped: u64) -> String {
    let dropped = bytes(dropped);
    format!(
        "has another version of the file by now: {dropped} of the former one are dropped, and it begins anew"
    )
}

/// What is here under a download's name may belong to another file.
pub(super) fn of_another(name: &str, other: &FetchView) -> Failure {
    let from: Vec<&str> = other.sources.iter().map(|s| s.at.as_str()).collect();
    let (have, from) = (bytes(other.have), from.join(" and "));
    Failure::new(Exit::Disk, format!("{name}.part has {have} from {from}, perhaps of another file"))
        .next("if it is the same file, name the other source with --mirror; otherwise choose another name with -o, or take the part away")
}

/// A server could not prove its identity.
pub(super) fn distrusted(Distrust { what, kind }: Distrust) -> Failure {
    let (exit, next) = match kind {
        DistrustKind::Plain => (Exit::Network, "if that is right, its address begins with http://"),
        DistrustKind::File => (Exit::Disk, "check the file of --ca-file"),
        DistrustKind::Name => (
            Exit::Unverified,
            "ask for it by a name of its certificate; if you know that certificate, name it with --pin",
        ),
        DistrustKind::Ended | DistrustKind::Early => (
            Exit::Unverified,
            "if the clock of this machine is right, its owner has to renew the certificate; if you know that certificate, name it with --pin",
        ),
        DistrustKind::Unknown | DistrustKind::Other => (
            Exit::Unverified,
            "if you know that certificate, name it with --pin, or with --ca-file the one it is vouched for by",
        ),
    };
    Failure::new(exit, what).next(next)
}

/// A disk error, and the file it is about.
fn not_written(file: &Path, why: Option<StoreError>) -> Failure {
    let part = format!("{}.part", file.display());
    let goes_on = "what has come is kept, the same command goes on";
    let (what, next) = match why {
        Some(StoreError::Full) => ("the disk is full", format!("make room; {goes_on}")),
        Some(StoreError::Denied) => (
            "permission denied",
            format!("check the permissions of its folder, or choose another with -o; {goes_on}"),
        ),
        Some(StoreError::Linked) => (
            "a link on its way may lead out of the folder",
            String::from(
                "put a folder in the place of that link, or choose another folder with -o",
            ),
        ),
        _ => ("the system cannot write the file", format!("check that disk; {goes_on}")),
    };
    let failure = Failure::new(Exit::Disk, format!("cannot write {part}: {what}")).next(next);
    match why {
        Some(StoreError::Denied | StoreError::Linked) => failure.of_name(),
        _ => failure,
    }
}

/// Says that nothing vouches for a file, also to a user who wants to hear of errors
/// only. For a program it is in the event of its end.
pub(super) fn unvouched(voice: Voice, file: &str, whole: &Whole) {
    if !whole.vouched && voice != Voice::Json {
        eprint_line(&format!("{}: {UNVOUCHED}", Lines(file)));
    }
}

pub(super) fn report(voice: Voice, file: &Path, whole: &Whole, asked: bool) -> Result<(), Failure> {
    let &Whole { size, sha1, vouched, .. } = whole;
    let urn = sha1.map(|sha1| format!("urn:sha1:{sha1}"));
    unvouched(voice, &file.display().to_string(), whole);
    if voice == Voice::Quiet {
        return Ok(());
    }
    if voice == Voice::Json {
        let done = json!({ "event": "done", "file": file, "bytes": size, "sha1": urn, "verified": asked && urn.is_some(), "vouched": vouched });
        return print(format!("{done}\n"));
    }
    let checked = match (&urn, asked) {
        (Some(urn), true) => format!(", verified {urn}"),
        (Some(urn), false) => format!(", {urn}"),
        (None, _) => String::new(),
    };
    let file = file.display().to_string();
    print(format!("{} {}{checked}\n", Lines(&file), bytes(size)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_is_told_once_and_names_a_member_by_its_address() {
        let at = SocketAddr::from(([10, 0, 0, 1], 6346));
        let to = |to: &str| fetch::Event::Moved { fetch: FetchId(0), at, to: to.to_owned() };
        let mut troubles = SourceTroubles::default();
        let mut said = |event| troubles.note(Instant::ZERO, &event).map(|(_, _, what)| what);
        assert_eq!(said(to("//10.0.0.2:6346/a/b")).unwrap(), "sends us to 10.0.0.2:6346");
        assert_eq!(said(to("//10.0.0.2:6346/a/b")), None);
        assert_eq!(said(to("//10.0.0.3:6346/a/b")).unwrap(), "sends us to 10.0.0.3:6346");
        assert_eq!(said(to("http://h/a")).unwrap(), "sends us to http://h/a");
        assert_eq!(said(to("/other")).unwrap(), "sends us to /other");
    }

    #[test]
    fn what_the_disk_said_is_told_with_the_file() {
        let said = |why| not_written(Path::new("/music/song"), why).to_string();
        let denied = said(Some(StoreError::Denied));
        assert!(
            denied.starts_with("cannot write /music/song.part: permission denied\n"),
            "{denied}"
        );
        assert!(said(Some(StoreError::Full)).contains("song.part: the disk is full"));
        assert!(said(None).contains("the system cannot write the file"));
    }
}
