//! Which alternate locations we accept. A stranger must not make us connect
//! just anywhere: not into our own network, not to well-known services, and not
//! to one victim many times.

use core::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use super::Config;
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

/// Checks one location named by `teller`. `at_ip` is how many sources we
/// already have at its address, `all` how many we have in total.
pub(super) fn judge(
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

    fn judged(at: &str, teller: &str) -> Result<(), AltRefusal> {
        judge(&Config::default(), at.parse().unwrap(), teller.parse().unwrap(), 0, 0)
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
    fn nobody_makes_us_knock_at_a_service_or_at_one_host_often() {
        assert_eq!(judged("81.1.2.3:25", "80.1.2.3"), Err(AltRefusal::Port));
        let (at, teller) = ("81.1.2.3:6346".parse().unwrap(), "80.1.2.3".parse().unwrap());
        let config = Config::default();
        assert_eq!(judge(&config, at, teller, 2, 2), Err(AltRefusal::TooMany));
        assert_eq!(judge(&config, at, teller, 0, 32), Err(AltRefusal::TooMany));
    }
}
