//! What `send` and `receive` have in common.

use std::net::SocketAddr;

use clap::{Args, ValueEnum};
use data_encoding::HEXLOWER;
use serde_json::{Value, json};
use servent::unicast::{BindError, Congestion, Counters, Endpoint, Loss, Options};
use servent_core::text::Shown;
use servent_core::time::Duration;

use super::Common;
use super::start::TraceFlag;
use crate::config::file::Raw;
use crate::exit::{Exit, Failure};
use crate::progress::{bytes, count, per_second, rate};

/// The UDP port of `receive` when nobody names another.
pub(crate) const PORT: u16 = 6348;
/// What a datagram may measure.
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
    /// The largest datagram in bytes, 200 to 65000.
    #[arg(long, value_name = "N")]
    mtu: Option<u32>,
    /// Lose this share of all datagrams here, in and out, to see it repaired.
    #[arg(long, value_name = "SHARE", default_value = "0%")]
    loss: Loss,
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
    pub(crate) fn options(&self, common: &Common) -> Result<Options, Failure> {
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
        Ok(Options { config, loss, seed, trace, ..Options::default() })
    }
}

/// Binds, and says what is wrong with an address.
pub(crate) async fn bind(at: SocketAddr, options: Options) -> Result<Endpoint, Failure> {
    Endpoint::bind(at, options).await.map_err(|error| {
        let exit = match &error {
            BindError::PortInUse { .. } => Exit::PortInUse,
            BindError::Trace { .. } => Exit::Disk,
            _ => Exit::Network,
        };
        Failure::new(exit, error.to_string())
    })
}

/// A stream that has come through.
pub(crate) struct Through<'a> {
    pub(crate) name: &'a str,
    pub(crate) peer: SocketAddr,
    pub(crate) length: u64,
    pub(crate) sum: [u8; 32],
    pub(crate) took: Duration,
}

impl Through<'_> {
    pub(crate) fn fact(&self, event: &str, counters: &Counters) -> Value {
        json!({
            "event": event,
            "name": self.name,
            "peer": self.peer,
            "bytes": self.length,
            "sha256": HEXLOWER.encode(&self.sum),
            "micros": self.took.as_micros(),
            "rate": per_second(self.length, self.took),
            "counters": counters,
        })
    }

    pub(crate) fn sentence(&self, verb: &str) -> String {
        let (size, sum) = (bytes(self.length), HEXLOWER.encode(&self.sum));
        let speed = rate(per_second(self.length, self.took));
        let (name, peer) = (Shown(self.name), self.peer);
        format!("{name} {verb} {peer}: {size}, {speed}, the same on both sides\n  sha256 {sum}")
    }
}

/// What the repairs took.
pub(crate) fn repairs(counters: &Counters) -> String {
    let Counters { protocol, socket, .. } = counters;
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
