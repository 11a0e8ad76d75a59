//! What `send` and `receive` have in common.

use std::fmt::Write as _;
use std::net::SocketAddr;

use clap::{Args, ValueEnum};
use data_encoding::HEXLOWER;
use serde_json::json;
use servent::transfer::{Carried, OfferEntry, TransferProgress, total};
use servent::unicast::{
    BindError, Config, Congestion, Endpoint, EndpointCounters, EndpointOptions, LossRate,
};
use servent_core::text::Shown;
use servent_core::time::Duration;

use super::Common;
use super::start::TraceFlag;
use crate::config::file::Raw;
use crate::exit::{Exit, Failure};
use crate::progress::{Reporter, StreamProgress, bytes, count, per_second, rate};

/// The default UDP port of `receive`.
pub(crate) const PORT: u16 = 6348;
/// The allowed sizes of a datagram.
const MTU: std::ops::RangeInclusive<u32> = 200..=65_000;

/// How the messages travel.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of the unicast")]
pub(crate) struct Travel {
    /// What times the repairs: the round trip, or the design's fixed 500 ms.
    #[arg(long, value_name = "NAME")]
    profile: Option<ProfileName>,
    /// Whether to give way to others on the network: cubic does, none does
    /// not. Not on the loopback, where there are none.
    #[arg(long, value_name = "NAME")]
    congestion: Option<CongestionName>,
    /// The largest datagram in bytes, 200 to 65000. Within this machine the default is
    /// the largest, unless some are to be lost.
    #[arg(long, value_name = "N")]
    mtu: Option<u32>,
    /// Lose this share of all datagrams here, in and out, to see it repaired.
    #[arg(long, value_name = "SHARE", default_value = "0%")]
    loss: LossRate,
    #[command(flatten)]
    trace: TraceFlag,
    /// Decides which datagrams are lost.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// The profiles by name.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum ProfileName {
    Adaptive,
    Unicast3,
}

/// The kinds of congestion control by name.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum CongestionName {
    Cubic,
    None,
}

impl Travel {
    /// The options of the endpoint.
    pub(crate) fn options(&self, common: &Common) -> Result<EndpointOptions, Failure> {
        let mut builder = common.builder()?;
        if let Some(profile) = self.profile {
            let name = match profile {
                ProfileName::Adaptive => "adaptive",
                ProfileName::Unicast3 => "unicast3",
            };
            builder.flag("--profile", "unicast.profile", Raw::Text(name.into()))?;
        }
        if let Some(congestion) = self.congestion {
            let name = match congestion {
                CongestionName::Cubic => "cubic",
                CongestionName::None => "none",
            };
            builder.flag("--congestion", "unicast.congestion", Raw::Text(name.into()))?;
        }
        if let Some(mtu) = self.mtu {
            builder.flag("--mtu", "unicast.mtu", Raw::Integer(i64::from(mtu)))?;
        }
        self.trace.put(&mut builder)?;
        let settings = builder.finish()?.settings;
        let (trace, config) = (settings.trace_file(), settings.unicast);
        if !MTU.contains(&config.mtu) {
            let what = format!("datagrams of {} bytes are not possible", config.mtu);
            return Err(Failure::usage(what).next("choose --mtu between 200 and 65000"));
        }
        if config.congestion == Congestion::None {
            tracing::warn!(
                "no congestion control: on a network shared with others this takes what they need"
            );
        }
        let (loss, seed) = (self.loss, self.seed);
        Ok(EndpointOptions { config, loss, seed, trace, ..EndpointOptions::default() })
    }
}

/// Within one machine no link cuts a datagram: fewer and larger ones cost less.
/// Whoever loses some to see them repaired wants to see many.
pub(crate) fn enlarged(options: EndpointOptions, to: SocketAddr) -> EndpointOptions {
    let EndpointOptions { mut config, loss, .. } = options;
    let within = to.ip().to_canonical().is_loopback();
    if within && loss == LossRate::NONE && config.mtu == Config::default().mtu {
        config.mtu = *MTU.end();
    }
    EndpointOptions { config, ..options }
}

/// Binds; the error says what is wrong with an address.
pub(crate) async fn bind(at: SocketAddr, options: EndpointOptions) -> Result<Endpoint, Failure> {
    Endpoint::bind(at, options).await.map_err(|error| {
        let exit = match &error {
            BindError::PortInUse { .. } => Exit::PortInUse,
            BindError::Trace { .. } => Exit::Disk,
            _ => Exit::Network,
        };
        Failure::new(exit, error.to_string())
    })
}

/// A title for several files: the one folder they are in, or their number.
pub(crate) fn title(entries: &[OfferEntry], nameless: &str) -> String {
    match entries {
        [one] if one.name.is_empty() => nameless.to_owned(),
        [one] => one.name.clone(),
        [first, rest @ ..] if first.is_folder() => {
            let inside = rest.iter().all(|entry| entry.name.starts_with(&first.name));
            if inside { first.name.clone() } else { count(total(entries).0 as u64, "file") }
        }
        _ => count(total(entries).0 as u64, "file"),
    }
}

/// The progress of a transfer, by file and in total.
pub(crate) struct TransferTally<'a> {
    reporter: &'a Reporter,
    entries: &'a [OfferEntry],
    title: String,
    peer: SocketAddr,
    progress: StreamProgress,
    /// Files that are complete, their bytes, and how many of these were
    /// transferred.
    done: u64,
    length: u64,
    carried: u64,
    last: Option<Carried>,
    took: Duration,
}

/// Up to this many files are reported to people one by one; a program is told
/// about all.
const NAMED: usize = 20;

impl<'a> TransferTally<'a> {
    pub(crate) fn new(
        reporter: &'a Reporter,
        entries: &'a [OfferEntry],
        title: String,
        peer: SocketAddr,
    ) -> Self {
        let progress = StreamProgress::new(reporter, &title, total(entries).1);
        let (done, length, carried, last, took) = (0, 0, 0, None, Duration::ZERO);
        Self { reporter, entries, title, peer, progress, done, length, carried, last, took }
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
            TransferProgress::Begun { from, .. } => self.progress.skip(from),
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
        }
    }

    /// Reports one of several files.
    fn one(&self, event: &str, it: &Carried) {
        let name = self.name(it);
        let sum = HEXLOWER.encode(&it.sum);
        let fact = json!({
            "event": event,
            "name": name,
            "peer": self.peer,
            "bytes": it.length,
            "carried": it.carried,
            "blake3": sum,
        });
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
            None => self.entries[it.entry].name.clone(),
        }
    }

    /// Removes the progress display.
    pub(crate) fn finish(&mut self) {
        self.took = self.progress.finish();
    }

    /// The final report: what was transferred, with its digest if it is one
    /// file.
    pub(crate) fn result(&self, words: (&str, &str), counters: Option<&EndpointCounters>) {
        let Self { length, carried, took, peer, done, .. } = self;
        let (event, verb) = words;
        let (name, event, sum) = match &self.last {
            Some(last) if self.entries.len() == 1 => {
                (self.name(last), event.to_owned(), Some(HEXLOWER.encode(&last.sum)))
            }
            _ => (self.title.clone(), format!("{event}_all"), None),
        };
        let speed = per_second(*carried, *took);
        let fact = json!({
            "event": event,
            "name": name,
            "files": done,
            "peer": peer,
            "bytes": length,
            "carried": carried,
            "blake3": sum,
            "micros": took.as_micros(),
            "rate": speed,
            "counters": counters,
        });
        let size = match (carried, length) {
            (carried, length) if carried == length => bytes(*length),
            (0, length) => format!("{}, all of it there before", bytes(*length)),
            (carried, length) => {
                format!("{}, {} of it there before", bytes(*length), bytes(length - carried))
            }
        };
        let files =
            if sum.is_some() { String::new() } else { format!("{}, ", count(*done, "file")) };
        let speed = if *carried == 0 { String::new() } else { format!(", {}", rate(speed)) };
        let mut sentence =
            format!("{} {verb} {peer}: {files}{size}{speed}, the same on both sides", Shown(&name));
        if let Some(sum) = sum {
            let _ = write!(sentence, "\n  blake3 {sum}");
        }
        if let Some(counters) = counters {
            let _ = write!(sentence, "\n{}", repairs(counters));
        }
        self.reporter.result(&fact, &sentence);
    }
}

/// How much of a file the receiver had before.
fn before(it: &Carried) -> String {
    match it.length - it.carried {
        0 => String::new(),
        all if all == it.length => String::from(", there before"),
        some => format!(", {} of it there before", bytes(some)),
    }
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
        count(protocol.sent + protocol.resent, "message"),
        protocol.resent,
        protocol.delivered,
        protocol.requested,
        count(protocol.acks_received, "acknowledgement"),
        protocol.acks_sent,
    )
}
