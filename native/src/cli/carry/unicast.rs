//! What `send` and `receive` have in common.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use clap::{Args, ValueEnum};
use servent::transfer::{OfferEntry, total};
use servent::unicast::{
    BindError, Config, Congestion, Endpoint, EndpointOptions, LARGEST, LossRate,
};

use crate::cli::Common;
use crate::cli::start::TraceFlag;
use crate::config::file::Raw;
use crate::exit::{Exit, Failure};
use crate::progress::count;

/// The default UDP port of `receive`.
pub(crate) const PORT: u16 = 6348;
/// Why the sender has stopped, for the receiver, which says that it has.
pub(crate) const BY_USER: &str = "its user ended it";
/// The allowed sizes of a datagram.
const MTU: std::ops::RangeInclusive<u32> = 200..=65_000;
/// At a lower rate, in bytes a second, one of the largest datagrams takes over 10 ms.
const SLOW: u64 = 100 * 65_000;

/// How the messages travel.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of the unicast")]
pub(crate) struct Travel {
    /// What times the repairs: the round trip, or the design's fixed 500 ms.
    #[arg(long, value_name = "NAME")]
    profile: Option<ProfileName>,
    /// How to share the network with others: bbr keeps to the rate of the path,
    /// cubic gives way at every loss, none does not.
    #[arg(long, value_name = "NAME")]
    congestion: Option<CongestionName>,
    /// The size of datagrams in bytes, 200 to 65000. The default is the largest
    /// that the path carries, up to 8952, and within this machine the largest of
    /// all, unless some are to be lost.
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
    Bbr,
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
                CongestionName::Bbr => "bbr",
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
        let (trace, mut config) = (settings.trace_file(), settings.unicast);
        if self.mtu.is_some() {
            config.mtu_floor = 0; // The person knows the path.
        }
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
/// A user who loses some to see them repaired wants to see many, and at a low rate one of
/// that size would take so long that it is taken for lost, and sent again.
pub(crate) fn enlarged(options: EndpointOptions, to: SocketAddr) -> EndpointOptions {
    let EndpointOptions { mut config, loss, .. } = options;
    let within = to.ip().to_canonical().is_loopback();
    let slow = (1..SLOW).contains(&config.max_pacing_rate);
    if config.mtu == LARGEST && (loss != LossRate::NONE || slow) {
        (config.mtu, config.mtu_floor) = (Config::default().mtu, 0);
    } else if within && config.mtu == LARGEST {
        (config.mtu, config.mtu_floor) = (*MTU.end(), 0);
    }
    EndpointOptions { config, ..options }
}

/// No more bytes a second leave than that, whatever waits to be sent: what could not leave
/// while the path was dark is no reason to send faster afterwards.
pub(crate) fn paced(mut options: EndpointOptions, rate: Option<u64>) -> EndpointOptions {
    if let Some(rate) = rate {
        options.config.max_pacing_rate = rate;
    }
    options
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

/// Listens on the address asked for, else on the usual port of IPv6 and IPv4,
/// or of IPv4 alone where there is no IPv6.
pub(crate) async fn listening(
    listen: Option<SocketAddr>,
    options: EndpointOptions,
) -> Result<Endpoint, Failure> {
    if let Some(at) = listen {
        return bind(at, options).await;
    }
    match bind((Ipv6Addr::UNSPECIFIED, PORT).into(), options.clone()).await {
        Err(failure) if failure.exit != Exit::PortInUse => {
            bind((Ipv4Addr::UNSPECIFIED, PORT).into(), options).await
        }
        other => other,
    }
}

/// A title for several files: the one folder they are in, or their number.
pub(crate) fn title(entries: &[OfferEntry], nameless: &str) -> String {
    match entries {
        [one] if one.name.is_empty() => nameless.to_owned(),
        [one] => one.text(),
        [first, rest @ ..] if first.is_folder() => {
            let folder = first.name.as_encoded_bytes();
            let inside = rest.iter().all(|entry| entry.name.as_encoded_bytes().starts_with(folder));
            if inside { first.text() } else { count(total(entries).0 as u64, "file") }
        }
        _ => count(total(entries).0 as u64, "file"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_datagram_takes_long_at_the_rate_that_is_allowed() {
        let here = "127.0.0.1:1".parse().unwrap();
        let mtu = |rate| {
            let config = Config { mtu: LARGEST, ..Config::default() };
            let options = EndpointOptions { config, ..EndpointOptions::default() };
            u64::from(enlarged(paced(options, rate), here).config.mtu)
        };
        assert_eq!(mtu(None), 65_000);
        for rate in [20_000, 200_000, 2_000_000, 20_000_000, 200_000_000] {
            let takes = mtu(Some(rate)) * 1_000_000 / rate;
            assert!(takes <= 10_000.max(1_500 * 1_000_000 / rate), "{takes} µs at {rate}");
        }
    }
}
