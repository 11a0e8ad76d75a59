//! Alternate locations: other sources of a file.

use alloc::vec::Vec;
use core::fmt;

use crate::wire::scan::trim;
use core::net::{IpAddr, SocketAddr};

/// The default port of servents.
pub(crate) const DEFAULT_PORT: u16 = 6346;

/// The list in `X-Alt` (who has the file) or `X-NAlt` (who no longer has it).
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Alts(pub Vec<SocketAddr>);

impl Alts {
    /// Maximum number of addresses read from one list; more are ignored.
    pub(crate) const MOST: usize = 64;

    /// Parses `ip[:port],…`. Invalid addresses and duplicates are ignored.
    /// Whether to connect anywhere is for the caller to decide: the list comes
    /// from a stranger.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut out = Vec::new();
        for piece in text.split(',').take(Self::MOST) {
            match address(trim(piece)) {
                Some(at) if !out.contains(&at) => out.push(at),
                _ => {}
            }
        }
        Self(out)
    }
}

/// One address, with the default port if it has none; port 0 is invalid. An
/// IPv4-mapped IPv6 address becomes the IPv4 address in it, so that no address
/// has two names.
fn address(text: &str) -> Option<SocketAddr> {
    let at = match text.parse::<SocketAddr>() {
        Ok(at) => at,
        Err(_) => SocketAddr::new(text.parse::<IpAddr>().ok()?, DEFAULT_PORT),
    };
    let at = SocketAddr::new(at.ip().to_canonical(), at.port());
    (at.port() != 0 && !at.ip().is_unspecified()).then_some(at)
}

impl fmt::Display for Alts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, at) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            match at {
                SocketAddr::V4(v4) if v4.port() == DEFAULT_PORT => write!(f, "{}", v4.ip())?,
                _ => write!(f, "{at}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_missing_port_is_the_usual_one() {
        let alts =
            Alts::parse("1.2.3.4:99, 5.6.7.8 ,tls=C0,[::ffff:1.2.3.4]:99,::1,9.9.9.9:0,0.0.0.0:1");
        assert_eq!(alts.to_string(), "1.2.3.4:99,5.6.7.8,[::1]:6346");
    }

    #[test]
    fn a_list_is_only_read_so_far() {
        let long: alloc::vec::Vec<_> =
            (0..1000).map(|n| alloc::format!("10.0.{}.{}", n / 250, n % 250 + 1)).collect();
        assert_eq!(Alts::parse(&long.join(",")).0.len(), Alts::MOST);
    }

    proptest! {
        #[test]
        fn lists_round_trip(list in prop::collection::btree_set((1..=u32::MAX, 1..=u16::MAX), 0..20)) {
            let alts = Alts(list.into_iter().map(|(ip, port)| {
                SocketAddr::new(IpAddr::V4(ip.into()), port)
            }).collect());
            prop_assert_eq!(Alts::parse(&alts.to_string()), alts);
        }
    }
}
