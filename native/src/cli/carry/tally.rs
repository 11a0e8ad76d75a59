//! What of a transfer is done, for people and for programs, on both sides.

use std::fmt::{Display, Write as _};
use std::net::SocketAddr;

use data_encoding::HEXLOWER;
use serde_json::{Value, json};
use servent::transfer::{Carried, LackKind, Lacking, OfferEntry, TransferProgress, total};
use servent::unicast::EndpointCounters;
use servent_core::text::Shown;
use servent_core::time::Duration;

use super::other_side::{OtherSide, OtherSideNow};
use crate::exit::{Exit, Failure};
use crate::progress::{Reporter, StreamProgress, bytes, count, per_second, rate};

/// The progress of a transfer, by file and in total.
pub(crate) struct TransferTally<'a> {
    reporter: &'a Reporter,
    entries: &'a [OfferEntry],
    title: String,
    other: OtherSideNow<'a>,
    progress: StreamProgress,
    /// Files that are complete, their bytes, and how many of these were
    /// transferred.
    done: u64,
    length: u64,
    carried: u64,
    last: Option<Carried>,
    lacking: Vec<Lacking>,
    took: Duration,
}

/// The words of one side about a complete transfer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TransferWords<'a> {
    /// The event for a program.
    pub(crate) event: &'a str,
    /// What comes between the name and the address.
    pub(crate) verb: &'a str,
    /// Where the other side was at the end.
    pub(crate) other: &'a OtherSide,
    /// Say the counters of the datagrams too.
    pub(crate) verbose: bool,
}

impl TransferWords<'_> {
    /// How the bytes went at the end.
    fn path(&self) -> &'static str {
        if self.other.through().is_some() { "relayed" } else { "direct" }
    }
}

/// Up to this many files are reported to people one by one; a program is told
/// about all.
const NAMED: usize = 20;
/// Up to this many files that lack are named in the last sentence.
const LACKING: usize = 10;

impl<'a> TransferTally<'a> {
    pub(crate) fn new(
        reporter: &'a Reporter,
        entries: &'a [OfferEntry],
        title: String,
        other: OtherSideNow<'a>,
    ) -> Self {
        let progress = StreamProgress::new(reporter, &title, total(entries).1);
        let (done, length, carried, last, took) = (0, 0, 0, None, Duration::ZERO);
        let lacking = Vec::new();
        Self {
            reporter,
            entries,
            title,
            other,
            progress,
            done,
            length,
            carried,
            last,
            lacking,
            took,
        }
    }

    pub(crate) fn files(&self) -> usize {
        total(self.entries).0
    }

    pub(crate) fn bytes(&self) -> Option<u64> {
        total(self.entries).1
    }

    /// Shows the progress of an entry. `event` is the name for a complete file.
    pub(crate) fn told(&mut self, event: &str, told: TransferProgress) {
        match told {
            TransferProgress::Known
            | TransferProgress::Numbered(_)
            | TransferProgress::Offered
            | TransferProgress::Accepted => {}
            TransferProgress::Begun { from, .. } => {
                self.progress.skip(from);
                self.progress.begin();
            }
            TransferProgress::Bytes { so_far, .. } => self.progress.show(self.length + so_far),
            TransferProgress::There(carried) => {
                self.done += 1;
                self.length += carried.length;
                self.carried += carried.carried;
                if carried.carried == 0 {
                    self.progress.skip(carried.length);
                }
                self.progress.show(self.length);
                if self.entries.len() > 1 {
                    self.one(event, &carried);
                }
                self.last = Some(carried);
            }
            TransferProgress::Lacks(lacking) => self.lacks(lacking),
        }
    }

    fn lacks(&mut self, it: Lacking) {
        self.reporter.fact(&lacking_fact(&it, (self.other)().address()));
        self.lacking.push(it);
    }

    /// The failure of a transfer of which some did not arrive, with the names.
    pub(crate) fn incomplete(&self) -> Option<Failure> {
        incomplete(&self.lacking, (self.done, (self.other)()))
    }

    /// Reports one of several files.
    fn one(&self, event: &str, it: &Carried) {
        let name = self.name(it);
        let sum = HEXLOWER.encode(&it.sum);
        let fact = json!({
            "event": event,
            "name": name,
            "bytes": it.length,
            "carried": it.carried,
            "blake3": sum,
        });
        let fact = (self.other)().placed("peer", fact);
        if self.entries.len() <= NAMED {
            let (shown, size) = (Shown(&name), bytes(it.length));
            self.reporter.tell(&fact, &format!("{shown}: {size}{}, blake3 {sum}", before(it)));
        } else {
            self.reporter.fact(&fact);
        }
    }

    fn name(&self, it: &Carried) -> String {
        match &it.file {
            Some(file) => file.display().to_string(),
            None if self.entries.len() == 1 => self.title.clone(),
            None => self.entries[it.entry].text(),
        }
    }

    /// Removes the progress display.
    pub(crate) fn finish(&mut self) {
        self.took = self.progress.finish();
    }

    /// The final report: what was transferred, with its digest if it is one
    /// file. Nothing when none of it was.
    pub(crate) fn result(&self, words: TransferWords<'_>, counters: Option<&EndpointCounters>) {
        if self.done == 0 && !self.lacking.is_empty() {
            return;
        }
        let Self { length, carried, took, done, .. } = self;
        let (name, event, sum) = match &self.last {
            Some(last) if self.entries.len() == 1 => {
                (self.name(last), words.event.to_owned(), Some(HEXLOWER.encode(&last.sum)))
            }
            _ => (self.title.clone(), format!("{}_all", words.event), None),
        };
        let speed = per_second(*carried, *took);
        let fact = json!({
            "event": event,
            "name": name,
            "files": done,
            "peer": words.other.address(),
            "place": words.other.place(),
            "bytes": length,
            "carried": carried,
            "blake3": sum,
            "micros": took.as_micros(),
            "rate": speed,
            "lacking": self.lacking.len(),
            "path": words.path(),
            "counters": counters,
        });
        self.reporter.result(&fact, &self.sentence((&name, sum), words, counters));
    }

    fn sentence(
        &self,
        (name, sum): (&str, Option<String>),
        words: TransferWords<'_>,
        counters: Option<&EndpointCounters>,
    ) -> String {
        let Self { length, carried, took, done, .. } = self;
        let size = match (carried, length) {
            (carried, length) if carried == length => bytes(*length),
            (0, length) => format!("{}, all of it there before", bytes(*length)),
            (carried, length) => {
                format!("{}, {} of it there before", bytes(*length), bytes(length - carried))
            }
        };
        let files = if sum.is_some() { String::new() } else { files_beside(name, *done) };
        let speed = per_second(*carried, *took);
        let speed = if *carried == 0 { String::new() } else { format!(", {}", rate(speed)) };
        let mut sentence = format!(
            "{} {} {}: {files}{size}{speed}, the same on both sides",
            Shown(name),
            words.verb,
            words.other
        );
        if let Some(sum) = sum {
            let _ = write!(sentence, "\n  blake3 {sum}");
        }
        if let Some(counters) = counters {
            let _ = write!(sentence, "\n  {}", path(words.path(), counters));
            if words.verbose {
                let _ = write!(sentence, "\n{}", repairs(counters));
            }
        }
        sentence
    }
}

/// How many files a title stands for, unless it is their number, as that of several
/// without a common folder is.
pub(crate) fn files_beside(title: &str, files: u64) -> String {
    let files = count(files, "file");
    if files == title { String::new() } else { format!("{files}, ") }
}

/// A file that does not arrive, for programs.
pub(crate) fn lacking_fact(it: &Lacking, peer: Option<SocketAddr>) -> Value {
    json!({
        "event": "lacking", "name": it.text(), "peer": peer, "why": it.why,
        "changed": it.kind == LackKind::Changed, "blocked": it.kind == LackKind::Blocked,
    })
}

/// The failure of a transfer of which some did not arrive; `done` files did.
pub(crate) fn incomplete(
    lacking: &[Lacking],
    (done, peer): (u64, impl Display),
) -> Option<Failure> {
    if lacking.is_empty() {
        return None;
    }
    let all = |kind| lacking.iter().all(|it| it.kind == kind);
    let exit = match (done, all(LackKind::Changed)) {
        (0, true) => Exit::Unverified,
        (0, false) => Exit::Disk,
        _ => Exit::InPart,
    };
    let what = match lacking {
        [one] if done == 0 => format!("{} did not travel: {}", Shown(&one.text()), Shown(&one.why)),
        _ => {
            let files = count(lacking.len() as u64, "file");
            format!("{files} did not travel between here and {peer}:{}", names(lacking))
        }
    };
    let next = if all(LackKind::Changed) {
        "send it again once nothing writes to it"
    } else if all(LackKind::Blocked) {
        "once the receiver has taken that away, send it again: only what is missing travels"
    } else {
        "once they can be read, send it again: only what is missing travels"
    };
    Some(Failure::new(exit, what).next(next))
}

/// What lacks, a line each, as far as there is room.
pub(crate) fn names(lacking: &[Lacking]) -> String {
    let each = |it: &Lacking| format!("\n  {}: {}", Shown(&it.text()), Shown(&it.why));
    let mut text: String = lacking.iter().take(LACKING).map(each).collect();
    if lacking.len() > LACKING {
        let _ = write!(text, "\n  and {} more", lacking.len() - LACKING);
    }
    text
}

/// How much of a file the receiver had before.
fn before(it: &Carried) -> String {
    match it.length - it.carried {
        0 => String::new(),
        all if all == it.length => String::from(", there before"),
        some => format!(", {} of it there before", bytes(some)),
    }
}

/// How it travelled: directly or through a relay, in datagrams of this size, so far
/// away, with so many that had to be sent again.
fn path(kind: &str, counters: &EndpointCounters) -> String {
    let EndpointCounters { protocol, socket, datagram_out, datagram_in, .. } = counters;
    let sends = protocol.sent_bytes >= protocol.delivered_bytes;
    // What did travel, as the other side counts it, and no probe of a larger path.
    let sent = u64::from(*datagram_out).min(socket.largest_out);
    let size = if sends { sent } else { u64::from(*datagram_in) };
    let trip = match counters.rtt_us {
        0 => String::new(),
        us => format!(", round trip {}.{:03} ms", us / 1_000, us % 1_000),
    };
    let mut path = format!("{kind}, datagrams of {size} bytes{trip}");
    // Only the sender of the files knows.
    if sends {
        let again = again(counters) * 1_000 / (protocol.sent + again(counters)).max(1);
        let _ = write!(path, ", {}.{} % sent again", again / 10, again % 10);
    }
    path
}

/// Messages that were sent again because they were missing: not those that only tried
/// out how large a datagram may be.
fn again(counters: &EndpointCounters) -> u64 {
    counters.protocol.resent.saturating_sub(counters.protocol.probes)
}

/// A summary of losses and retransmissions.
fn repairs(counters: &EndpointCounters) -> String {
    let EndpointCounters { protocol, socket, .. } = counters;
    let datagrams = protocol.packets_out + protocol.packets_in + socket.lost_in;
    let lost = socket.lost_out + socket.lost_in;
    let trip = match counters.rtt_us {
        0 => String::new(),
        us => format!(", round trip {}.{:03} ms", us / 1_000, us % 1_000),
    };
    format!(
        "  {} in {}, {lost} lost on purpose{trip}\n  \
         {} sent, {} of them again; {} delivered, {} asked for again; {} in, {} out",
        count(datagrams, "datagram"),
        count(socket.send_calls + socket.recv_calls, "system call"),
        count(protocol.sent + again(counters), "message"),
        again(counters),
        protocol.delivered,
        protocol.requested,
        count(protocol.acks_received, "acknowledgement"),
        protocol.acks_sent,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_files_is_said_once() {
        assert_eq!(files_beside("docs/", 7), "7 files, ");
        assert_eq!(files_beside("7 files", 7), "");
    }
}
