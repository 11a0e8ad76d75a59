//! Requests: which bytes of which source, and how.

use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use super::cx::FetchCx;
use super::download::{Download, State};
use super::proof::probe::{Probe, ProbeChoice};
use super::ranges::{ByteRange, RangeSet, common};
use super::source::{SourceLink, Src};
use super::{Config, Event, FileVersion, Output, SourceTrouble, keys_where};
use crate::id::ConnId;
use crate::queue::client;
use crate::time::Duration;
use crate::wire::http::{Alts, HeadWriter, RangeSpec};
use crate::wire::queue::{write_claim, write_sleeps};

/// A server may hold its answer for 25 s (QA-3): a client that gives up sooner does not
/// say that it waits.
const HELD: Duration = Duration::from_secs(30);

impl Download {
    /// The queue client of a source says it is time to ask.
    pub(super) fn ask(&mut self, no: u32, cx: &mut FetchCx<'_>) {
        if self.state != State::Running {
            return;
        }
        let Some(src) = self.sources.get(&no) else { return };
        match src.link {
            _ if src.away.is_some() => {}
            SourceLink::None if src.pushed => self.lose(no, SourceTrouble::Disconnected, cx),
            SourceLink::None if self.choose(no, cx.config).is_none() => self.rest(no, cx),
            SourceLink::None => self.dial(no, cx),
            SourceLink::Kept { conn } => self.request(no, conn, cx),
            // A request is on its way; its reply decides when to ask again.
            SourceLink::Dialing { .. } | SourceLink::Asked { .. } | SourceLink::Receiving(_) => {}
        }
    }

    /// Connects to a source, over a connection that an earlier download left if
    /// there is one.
    pub(super) fn dial(&mut self, no: u32, cx: &mut FetchCx<'_>) {
        let Some(src) = self.sources.get_mut(&no) else { return };
        if let Some((conn, local)) = cx.conns.spares.take(&src.server()) {
            (src.local, src.reused) = (local, true);
            self.first_contact = None;
            cx.conns.adopt(conn, self.id, no);
            return self.request(no, conn, cx);
        }
        src.reused = false;
        let conn = cx.conns.draw(self.id, no);
        let until = cx.now + cx.config.dial_deadline.scaled(cx.config.time_scale);
        src.link = SourceLink::Dialing { conn, until };
        cx.fx.output(Output::Dial { conn, to: src.at() });
    }

    /// A dial succeeded: requests what is needed by now.
    pub(super) fn dialed(&mut self, no: u32, conn: ConnId, local: IpAddr, cx: &mut FetchCx<'_>) {
        let Some(src) = self.sources.get_mut(&no) else { return };
        if let SourceLink::Dialing { .. } = src.link {
            src.local = Some(local.to_canonical());
            self.first_contact = None;
            self.request(no, conn, cx);
        }
    }

    /// There is nothing to request from this source. A partial source may get
    /// more of the file, so it is asked again later, whatever it has said so
    /// far.
    fn rest(&mut self, no: u32, cx: &mut FetchCx<'_>) {
        let Some(src) = self.sources.get_mut(&no) else { return };
        if src.available.take().is_some() {
            let pause = cx.config.busy_retry.scaled(cx.config.time_scale);
            self.client(no, client::Input::Busy(Some(pause)), cx);
        } else {
            self.client(no, client::Input::Rest, cx);
        }
        self.end_stalemate(cx);
    }

    /// Sends a request; its range is chosen anew each time (AQ-13).
    pub(super) fn request(&mut self, no: u32, conn: ConnId, cx: &mut FetchCx<'_>) {
        let range = self.choose(no, cx.config);
        let Some(src) = self.sources.get_mut(&no) else { return };
        let Some(range) = range else {
            src.link = SourceLink::Kept { conn };
            return self.rest(no, cx);
        };
        let until = cx.now + cx.config.answer_deadline.scaled(cx.config.time_scale);
        src.link = SourceLink::Asked { conn, range, until };
        let data = self.head(no, range, cx);
        cx.fx.output(Output::Write { conn, data });
        let (start, end) = range;
        cx.fx.event(Event::Asked { fetch: self.id, conn, start, end });
    }

    fn head(&self, no: u32, (start, end): ByteRange, cx: &FetchCx<'_>) -> Vec<u8> {
        let src = &self.sources[&no];
        let mut head = HeadWriter::request("GET", &src.target(self.sha1));
        head.header("Host", &src.source.host).header("User-Agent", &cx.speech.agent);
        let range = match end {
            u64::MAX => RangeSpec::From(start),
            _ => RangeSpec::Between(start, end - 1),
        };
        head.header("Range", range);
        // Of another version the server sends all, and not a part that does not fit.
        let begun = start > 0 || !self.have.is_empty();
        let version = self.expected(no).filter(|_| begun).and_then(FileVersion::if_range);
        if let Some(version) = version {
            head.header("If-Range", version);
        }
        if let Some(cookies) = src.cookies.header(&src.source) {
            head.header("Cookie", cookies);
        }
        let callback = cx.speech.callback.and_then(|at| reached_at(at, src.local));
        let waits = cx.config.answer_deadline >= HELD;
        write_claim(&mut head, cx.speech.dialect, src.client.claim(), callback, waits);
        if cx.speech.sleeps {
            write_sleeps(&mut head);
        }
        if let Some(sha1) = self.sha1.filter(|_| !src.unhashed) {
            head.header("X-Gnutella-Content-URN", format_args!("urn:sha1:{sha1}"));
            self.mesh(no, &mut head, cx.config);
        }
        head.finish()
    }

    /// Announces the sources we found good or dead (PQ-17).
    fn mesh(&self, no: u32, head: &mut HeadWriter, config: &Config) {
        let list = |fits: &dyn Fn(&Src) -> bool| {
            let others = self.sources.iter().filter(|&(&n, s)| n != no && !s.pushed && fits(s));
            Alts(others.map(|(_, s)| s.at()).take(config.alts_told as usize).collect())
        };
        let good = list(&|s| s.gave && s.usable());
        let dead =
            list(&|s| matches!(s.lost, Some(SourceTrouble::NotFound | SourceTrouble::Unreachable)));
        if !good.0.is_empty() {
            head.header("X-Alt", good);
        }
        if !dead.0.is_empty() {
            head.header("X-NAlt", dead);
        }
    }

    /// The range to request from a source: the first missing bytes that no
    /// other source is sending, limited to a chunk when there are several
    /// sources. When all missing bytes are being sent, the second half of the
    /// longest range that some source still has to send; or, only to keep a
    /// place in a queue, any missing bytes.
    pub(super) fn choose(&self, no: u32, config: &Config) -> Option<ByteRange> {
        let src = self.sources.get(&no).filter(|src| src.usable())?;
        match self.choose_probe(no) {
            ProbeChoice::Only(range) => return Some(range),
            ProbeChoice::Nothing => return None,
            ProbeChoice::Free => {}
        }
        let whole = (0, self.size.unwrap_or(u64::MAX));
        let flying = || {
            let others = self.sources.iter().filter(move |&(&n, _)| n != no);
            others.filter_map(|(_, s)| s.link.in_flight())
        };
        let mut taken = self.have.clone();
        flying().for_each(|range| taken.insert(range));
        let piece = |range| self.checks.cut(range, config);
        let several = self.sources.values().filter(|s| s.usable()).count() > 1;
        if let Some(&free) = within(src, taken.gaps(whole)).first() {
            return Some(if several { piece(free) } else { free });
        }
        if self.size.is_some() {
            let open = flying().filter_map(|range| common(range, whole));
            let open = open.flat_map(|range| within(src, self.have.gaps(range)));
            let longest = open.max_by_key(|&(start, end)| (end - start, start));
            if let Some((start, end)) = longest
                && end - start > config.chunk.saturating_mul(2)
            {
                return Some(piece((self.checks.middle((start, end)), end)));
            }
        }
        src.waiting()?;
        self.have.gaps(whole).first().copied().map(piece)
    }

    /// Disconnects sources whose remaining bytes have been received from
    /// others.
    pub(super) fn prune(&mut self, cx: &mut FetchCx<'_>) {
        let idle = |have: &RangeSet, s: &Src| match s.link {
            SourceLink::Receiving(_) => s.link.in_flight().is_some_and(|r| have.gaps(r).is_empty()),
            _ => false,
        };
        // Bytes that are compared are there already.
        let probed = self.doubt.probe.map(Probe::source);
        let idle = keys_where(&self.sources, |s| idle(&self.have, s));
        for no in idle.into_iter().filter(|no| Some(*no) != probed) {
            self.release(no, cx);
            if self.sources[&no].pushed {
                self.lose(no, SourceTrouble::Disconnected, cx);
            } else {
                self.client(no, client::Input::Want, cx);
            }
        }
    }
}

/// Where a source can call us. When we listen on all our addresses, it is the
/// local address of our connection to it; an unspecified address cannot be
/// called (PQ-8).
fn reached_at(listen: SocketAddr, local: Option<IpAddr>) -> Option<SocketAddr> {
    if listen.ip().is_unspecified() {
        return Some(SocketAddr::new(local?, listen.port()));
    }
    Some(listen)
}

/// The parts of these ranges that a source has.
fn within(src: &Src, ranges: Vec<ByteRange>) -> Vec<ByteRange> {
    match &src.available {
        None => ranges,
        Some(available) => {
            let has = available.as_slice();
            ranges.iter().flat_map(|&r| has.iter().filter_map(move |&h| common(r, h))).collect()
        }
    }
}
