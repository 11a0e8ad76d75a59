//! One source of a download: its address, what it has, and the state of our
//! connection.

use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use super::cookies::Cookies;
use super::cx::FetchCx;
use super::ranges::{ByteRange, RangeSet};
use super::spare::SpareServer;
use super::{Config, DownloadSource, Event, FileVersion, SourceTrouble, SourceView};
use crate::engine::earlier;
use crate::id::{ConnId, FetchId, Sha1};
use crate::queue::client::{HeldPosition, QueueClient};
use crate::time::{Duration, Instant};
use crate::wire::http::{AvailableRanges, Target};
use crate::wire::thex::ThexUri;

/// How many times in a row a member of a site is asked without longer pauses: the
/// others need ten seconds to take over from one that has died.
const PROMPT: u32 = 5;
/// Longer waits for a slot are shown to no person: servers that do not know how long it
/// takes tell a million seconds.
const LONGEST_ESTIMATE: Duration = Duration::from_secs(7 * 24 * 3_600);

/// A source of a download.
#[derive(Debug, Clone)]
pub(super) struct Src {
    pub(super) source: DownloadSource,
    /// Another source named it, or redirected us to it, not the user.
    pub(super) told: bool,
    /// It connected to us with `GIV` and cannot be dialed.
    pub(super) pushed: bool,
    /// It refused its first target, and is asked for the second (RT-16).
    pub(super) otherwise: bool,
    /// Our own address on the last connection we made to it.
    pub(super) local: Option<IpAddr>,
    pub(super) client: QueueClient,
    pub(super) link: SourceLink,
    /// The ranges it has, when it is a partial source.
    pub(super) available: Option<AvailableRanges>,
    /// Failures in a row.
    pub(super) failures: u32,
    /// How many times in a row it was busy and gave us no place.
    pub(super) refusals: u32,
    /// Some bytes of the file as it is now came from it.
    pub(super) gave: bool,
    /// Where those may be. A source that was cut off may have written more than
    /// was reported, so these are all the bytes it was allowed to write.
    pub(super) touched: RangeSet,
    /// Its bytes that were reported to be on disk.
    pub(super) wrote: RangeSet,
    /// Its bytes may be mixed with those of others.
    pub(super) joined: bool,
    /// What it last said of the version of its file.
    pub(super) version: Option<FileVersion>,
    /// It had to prove itself by overlapping bytes since it was last in trouble.
    pub(super) overlapped: bool,
    /// It is asked without the hash that it told itself: it has no such file any more.
    pub(super) unhashed: bool,
    /// Where it says the file's hash tree is.
    pub(super) thex: Option<ThexUri>,
    /// It was asked for the tree.
    pub(super) asked_for_tree: bool,
    /// It is not asked for now: the file can be had without it, or it may have
    /// another file.
    pub(super) left_out: bool,
    /// How many times it began the file from the beginning, because it sends no parts
    /// or does not know its length.
    pub(super) opened: u32,
    /// Where it was on its way to where it redirected us.
    pub(super) trail: Vec<DownloadSource>,
    /// What it wants to be told on that way.
    pub(super) cookies: Cookies,
    /// How many times it redirected us.
    pub(super) moves: u32,
    /// Its last redirect came with a cookie that we had not told it.
    pub(super) changed: bool,
    /// The current request went over a connection that an earlier download
    /// left; the server may have closed it meanwhile.
    pub(super) reused: bool,
    /// Its redirect is being resolved; true when that is a temporary one.
    pub(super) away: Option<bool>,
    /// Where it was before another member of its site was named, and whether a
    /// stranger had named that: there we ask again when that one is gone.
    pub(super) home: Option<(DownloadSource, bool)>,
    /// The source of ours that it named as the one to ask.
    pub(super) beside: Option<SocketAddr>,
    /// How many times in a row the member that it named could not be reached.
    pub(super) unreached: u32,
    /// Its server takes back the place or slot that it named last (QA-8).
    pub(super) takes_back: bool,
    /// Given up, and why.
    pub(super) lost: Option<SourceTrouble>,
    /// What was last wrong with it, since it last sent bytes.
    pub(super) trouble: Option<SourceTrouble>,
    /// The HTTP status that said so.
    pub(super) status: Option<u16>,
}

/// The state of our connection to a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SourceLink {
    /// No connection.
    None,
    /// A connection is being made.
    Dialing { conn: ConnId, until: Instant },
    /// Connected; no request is active.
    Kept { conn: ConnId },
    /// A request was sent; waiting for the head of the reply.
    Asked { conn: ConnId, range: ByteRange, until: Instant },
    /// Its bytes are being received.
    Receiving(Receiving),
}

/// A transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Receiving {
    pub(super) conn: ConnId,
    pub(super) range: ByteRange,
    /// How many bytes of it are safe on disk.
    pub(super) stored: u64,
    /// The connection can be reused afterwards.
    pub(super) reuse: bool,
    /// It sends too slowly when enough bytes have not come by then…
    pub(super) judged_at: Instant,
    /// …counted from so many.
    pub(super) judged_from: u64,
}

impl Receiving {
    /// Gives the source another window as soon as it has sent what the least rate
    /// asks of one: it is found out a window after its last bytes.
    pub(super) fn judge(&mut self, cx: &FetchCx<'_>) {
        let window = stall_window(cx);
        let least = window.ratio(cx.config.stall_rate, 1_000_000).as_micros();
        if self.stored - self.judged_from >= least.max(1) {
            (self.judged_from, self.judged_at) = (self.stored, cx.now + window);
        }
    }
}

/// The time in which a source must have sent what the least rate asks of it.
pub(super) fn stall_window(cx: &FetchCx<'_>) -> Duration {
    cx.config.stall_window.scaled(cx.config.time_scale).max(Duration::from_millis(1))
}

impl SourceLink {
    /// The connection, if there is one.
    pub(super) const fn conn(&self) -> Option<ConnId> {
        match *self {
            Self::None => None,
            Self::Dialing { conn, .. }
            | Self::Kept { conn }
            | Self::Asked { conn, .. }
            | Self::Receiving(Receiving { conn, .. }) => Some(conn),
        }
    }

    /// Emits the event for the stored part of a range when its transfer ends
    /// early.
    pub(super) fn tell_part(&self, fetch: FetchId, cx: &mut FetchCx<'_>) {
        if let Self::Receiving(Receiving { range: (start, end), stored: got @ 1.., .. }) = *self
            && start + got < end
        {
            cx.fx.event(Event::Stored { fetch, start, end: start + got });
        }
    }

    /// True while nothing is dialed, asked or received.
    pub(super) const fn is_quiet(&self) -> bool {
        matches!(self, Self::None | Self::Kept { .. })
    }

    /// The bytes that are being received, or may be soon.
    pub(super) fn in_flight(&self) -> Option<ByteRange> {
        match *self {
            Self::Asked { range, .. } => Some(range),
            Self::Receiving(Receiving { range, stored, .. }) => Some((range.0 + stored, range.1)),
            _ => None,
        }
    }

    /// The deadline of the current state.
    pub(super) const fn until(&self) -> Option<(Instant, &'static str)> {
        match *self {
            Self::Dialing { until, .. } => Some((until, "dial")),
            Self::Asked { until, .. } => Some((until, "answer")),
            Self::Receiving(Receiving { judged_at, .. }) => Some((judged_at, "stall")),
            Self::None | Self::Kept { .. } => None,
        }
    }
}

impl Src {
    pub(super) fn new(config: &Config, source: DownloadSource) -> Self {
        let place = crate::queue::client::Config { time_scale: config.time_scale, ..config.place };
        Self {
            source,
            told: false,
            pushed: false,
            otherwise: false,
            local: None,
            client: QueueClient::new(place),
            link: SourceLink::None,
            available: None,
            failures: 0,
            refusals: 0,
            gave: false,
            touched: RangeSet::default(),
            wrote: RangeSet::default(),
            joined: false,
            unhashed: false,
            version: None,
            overlapped: false,
            thex: None,
            asked_for_tree: false,
            left_out: false,
            opened: 0,
            trail: Vec::new(),
            cookies: Cookies::default(),
            moves: 0,
            changed: false,
            reused: false,
            away: None,
            home: None,
            beside: None,
            unreached: 0,
            takes_back: false,
            lost: None,
            trouble: None,
            status: None,
        }
    }

    pub(super) const fn at(&self) -> SocketAddr {
        self.source.at
    }

    /// The server it is at.
    pub(super) fn server(&self) -> SpareServer {
        let private = self.source.target.starts_with("https://");
        SpareServer { at: self.source.at, host: self.source.host.clone(), private }
    }

    /// Its first target.
    fn first(&self) -> &str {
        self.source.target.split('#').next().unwrap_or_default()
    }

    /// Its second target, when the first is refused: what follows `#` in its
    /// target, or the hash of a file that was requested by its number.
    pub(super) fn second(&self, sha1: Option<Sha1>) -> Option<String> {
        if let Some((_, second)) = self.source.target.split_once('#') {
            return Some(second.into());
        }
        let by_number = matches!(Target::parse(self.first()), Target::File { .. });
        sha1.filter(|_| by_number).map(|sha1| alloc::format!("{}", Target::Urn(sha1)))
    }

    /// Its current target.
    pub(super) fn target(&self, sha1: Option<Sha1>) -> String {
        let second = if self.otherwise { self.second(sha1) } else { None };
        second.unwrap_or_else(|| self.first().into())
    }

    /// The place we wait at, if any.
    pub(super) fn waiting(&self) -> Option<&HeldPosition> {
        self.client.place().filter(|p| !p.served)
    }

    /// Forgets what it sent; returns where that may be.
    pub(super) fn forget(&mut self) -> RangeSet {
        self.gave = false;
        self.joined = false;
        self.unhashed = false;
        self.wrote = RangeSet::default();
        core::mem::take(&mut self.touched)
    }

    /// Its bytes count as those of an earlier run, which are from unknown sources.
    pub(super) fn disown(&mut self) {
        self.joined = false;
        (self.wrote, self.touched) = (RangeSet::default(), RangeSet::default());
    }

    /// True while it is sending bytes.
    pub(super) const fn receives(&self) -> bool {
        matches!(self.link, SourceLink::Receiving(_))
    }

    /// True when it may be asked.
    pub(super) const fn usable(&self) -> bool {
        self.lost.is_none() && !self.left_out
    }

    /// True when it is doing nothing and is not about to.
    pub(super) fn idle(&self) -> bool {
        self.usable()
            && self.away.is_none()
            && self.link.is_quiet()
            && self.client.ask_at().is_none()
    }

    /// The pause after this many failures in a row: doubling, up to a limit.
    pub(super) fn pause(&self, config: &Config) -> Duration {
        if self.failures <= 1 && self.gave {
            return config.reconnect.scaled(config.time_scale).max(Duration::from_millis(1));
        }
        let doubled = config.backoff.ratio(1 << self.failures.saturating_sub(1).min(20), 1);
        doubled.min(config.backoff_most).scaled(config.time_scale).max(Duration::from_millis(1))
    }

    /// The pause before a member of a site is asked who has the file by now: short
    /// as long as that changes hands, then doubling, up to a limit.
    pub(super) fn soon(&self, config: &Config) -> Duration {
        let doubled =
            config.site_retry.ratio(1 << self.unreached.saturating_sub(PROMPT).min(20), 1);
        doubled.min(config.busy_retry).scaled(config.time_scale).max(Duration::from_millis(1))
    }

    /// True when nothing is going on with it, so that it can be asked.
    pub(super) fn is_free(&self) -> bool {
        self.link.is_quiet() && self.usable() && self.away.is_none()
    }

    /// The next deadline of this source.
    pub(super) fn due(&self) -> Option<(Instant, &'static str)> {
        let ask = self.client.ask_at().map(|at| (at, "ask"));
        earlier(ask, self.link.until())
    }

    pub(super) fn view(&self) -> SourceView {
        let place = self.waiting();
        SourceView {
            at: alloc::format!("{}", self.source.at),
            state: String::from(self.state()),
            position: place.and_then(|p| p.position),
            length: place.and_then(|p| p.length),
            ask_at: self.client.ask_at().map(Instant::as_micros),
            deadline: place.map(|p| p.deadline.as_micros()),
            lost: self.client.lost(),
            eta: place
                .and_then(|p| p.eta)
                .filter(|eta| *eta <= LONGEST_ESTIMATE)
                .map(Duration::as_secs_ceil),
            trouble: self.trouble.map(|why| match self.status {
                Some(status) => alloc::format!("{why} (HTTP status {status})"),
                None => alloc::format!("{why}"),
            }),
        }
    }

    fn state(&self) -> &'static str {
        match self.link {
            _ if self.lost.is_some() => "lost",
            _ if self.left_out => "in reserve",
            SourceLink::Dialing { .. } => "dialing",
            SourceLink::Asked { .. } => "asking",
            SourceLink::Receiving(_) => "receiving",
            _ if self.waiting().is_some() && self.beside.is_none() => "queued",
            _ if self.client.ask_at().is_some() => "waiting",
            SourceLink::None | SourceLink::Kept { .. } => "idle",
        }
    }
}
