//! Which alternate locations and which redirects we accept. A stranger must not
//! make us connect just anywhere: not into our own network, not to well-known
//! services, and not to one victim many times.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};

use serde::{Deserialize, Serialize};

use super::{Config, DownloadSource};
use crate::address::{Reach, plausible, reach};

/// Why an alternate location was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AltRefusal {
    /// It cannot be reached, or only from nearer than the peer that named it.
    Private,
    /// Its port is below [`Config::alt_port`].
    Port,
    /// [`Config::sources`] or [`Config::alts_per_ip`] is reached.
    TooMany,
}

/// An address of the internet, for a server of which only the name is known.
const SOMEWHERE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

/// The address by which a source is judged as one that names others. One with a whole
/// URL as its target may be behind a proxy, whose address says nothing of it: it is
/// judged by the host of that URL. A name counts as one of the internet, because the
/// stranger whose name it is decides what it means here.
pub(super) fn teller(source: &DownloadSource) -> IpAddr {
    let target = source.target.as_str();
    let rest = target.strip_prefix("http://").or_else(|| target.strip_prefix("https://"));
    let Some(authority) = rest.and_then(|rest| rest.split(['/', '?', '#']).next()) else {
        return source.at.ip();
    };
    let (name, port) = authority.rsplit_once(':').unwrap_or((authority, ""));
    let name = if port.ends_with(']') { authority } else { name };
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    match bare.parse() {
        Ok(ip) => ip,
        // Never asked through a proxy: it means this machine.
        Err(_) if bare.eq_ignore_ascii_case("localhost") => source.at.ip(),
        Err(_) => SOMEWHERE,
    }
}

/// Checks one location named by `teller`. `at_ip` is how many sources we
/// already have at its address, `all` how many we have in total.
pub(super) fn check_location(
    config: &Config,
    at: SocketAddr,
    teller: IpAddr,
    at_ip: usize,
    all: usize,
) -> Result<(), AltRefusal> {
    if !plausible(at.ip(), teller) {
        return Err(AltRefusal::Private);
    }
    if at.port() < config.alt_port {
        return Err(AltRefusal::Port);
    }
    if all >= config.sources as usize
        || at_ip >= config.alts_per_ip as usize && reach(at.ip()) != Reach::Machine
    {
        return Err(AltRefusal::TooMany);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behind_a_proxy_the_origin_is_the_teller() {
        let of = |target: &str| {
            let at = SocketAddr::from(([127, 0, 0, 1], 3_128));
            let host = alloc::string::String::from("h");
            teller(&DownloadSource { at, target: target.into(), host })
        };
        let here = IpAddr::from([127, 0, 0, 1]);
        for (target, wanted) in [
            ("/a", here),
            ("http://files.example/a", SOMEWHERE),
            ("https://files.example:8443/a?b", SOMEWHERE),
            ("http://127.0.0.1.example/a", SOMEWHERE),
            ("https://localhost:8443/a", here),
            ("http://10.0.0.7:6346/a", IpAddr::from([10, 0, 0, 7])),
            ("http://10.0.0.7?a", IpAddr::from([10, 0, 0, 7])),
            ("https://[fd00::7]/a", "fd00::7".parse().unwrap()),
            ("https://[fd00::7]:443/a", "fd00::7".parse().unwrap()),
        ] {
            assert_eq!(of(target), wanted, "{target}");
        }
    }

    fn judged(at: &str, teller: &str) -> Result<(), AltRefusal> {
        check_location(&Config::default(), at.parse().unwrap(), teller.parse().unwrap(), 0, 0)
    }

    #[test]
    fn a_stranger_cannot_send_us_into_our_own_network() {
        for at in [
            "10.0.0.1:6346",
            "127.0.0.1:6346",
            "192.168.1.1:6346",
            "169.254.0.1:6346",
            "100.64.0.1:6346",
            "[::1]:6346",
            "[fc00::1]:6346",
            "[::ffff:10.0.0.1]:6346",
            "[::ffff:224.0.0.1]:6346",
            "224.0.0.1:6346",
            "255.255.255.255:6346",
        ] {
            assert_eq!(judged(at, "80.1.2.3"), Err(AltRefusal::Private), "{at}");
        }
        assert_eq!(judged("81.1.2.3:6346", "80.1.2.3"), Ok(()));
    }

    #[test]
    fn neighbours_may_name_neighbours() {
        assert_eq!(judged("10.0.0.2:6346", "10.0.0.1"), Ok(()));
        assert_eq!(judged("127.0.0.1:6346", "127.0.0.1"), Ok(()));
        assert_eq!(judged("127.0.0.1:6346", "10.0.0.1"), Err(AltRefusal::Private));
        assert_eq!(judged("[::ffff:127.0.0.1]:6346", "10.0.0.1"), Err(AltRefusal::Private));
        assert_eq!(judged("224.0.0.1:6346", "10.0.0.1"), Err(AltRefusal::Private));
    }

    #[test]
    fn no_source_makes_us_knock_at_a_service_or_at_one_host_often() {
        assert_eq!(judged("81.1.2.3:25", "80.1.2.3"), Err(AltRefusal::Port));
        let (at, teller) = ("81.1.2.3:6346".parse().unwrap(), "80.1.2.3".parse().unwrap());
        let config = Config::default();
        assert_eq!(check_location(&config, at, teller, 2, 2), Err(AltRefusal::TooMany));
        assert_eq!(check_location(&config, at, teller, 0, 32), Err(AltRefusal::TooMany));
    }
}
