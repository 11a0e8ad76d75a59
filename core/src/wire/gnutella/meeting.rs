//! Where a servent that cannot be reached is met (extension `SM` of hits): a meeting
//! place, and the code of a link such as `meet://CODE@PLACE/`.

use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

/// Maximum characters of a code.
const CODE: usize = 64;

/// A meeting place, and the code by which a servent is found there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HitMeeting {
    /// The place.
    pub at: SocketAddr,
    /// Letters, digits and hyphens.
    pub code: String,
}

impl HitMeeting {
    /// The data of the extension: the length of the address, the address, its port
    /// (little-endian, as everywhere in hits), the code.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut data = Vec::new();
        match self.at.ip().to_canonical() {
            IpAddr::V4(ip) => {
                data.push(4);
                data.extend_from_slice(&ip.octets());
            }
            IpAddr::V6(ip) => {
                data.push(16);
                data.extend_from_slice(&ip.octets());
            }
        }
        data.extend_from_slice(&self.at.port().to_le_bytes());
        data.extend_from_slice(self.code.as_bytes());
        data
    }

    /// Reads it; `None` for what none of us would write.
    #[must_use]
    pub fn parse(data: &[u8]) -> Option<Self> {
        let (length, rest) = data.split_first()?;
        let (ip, rest): (IpAddr, _) = match length {
            4 => rest.split_first_chunk::<4>().map(|(ip, rest)| ((*ip).into(), rest))?,
            16 => rest.split_first_chunk::<16>().map(|(ip, rest)| ((*ip).into(), rest))?,
            _ => return None,
        };
        let (port, code) = rest.split_first_chunk::<2>()?;
        let at = SocketAddr::new(ip, u16::from_le_bytes(*port));
        let fits = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
        let fits = (1..=CODE).contains(&code.len()) && code.iter().all(fits);
        fits.then(|| Self { at, code: String::from_utf8_lossy(code).into_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_nothing_else_is() {
        for at in ["192.0.2.1:6349", "[2001:db8::1]:6349"] {
            let meeting = HitMeeting { at: at.parse().unwrap(), code: "a-b-c1".into() };
            let data = meeting.to_bytes();
            assert_eq!(HitMeeting::parse(&data), Some(meeting));
            assert_eq!(HitMeeting::parse(&data[..data.len() - 6]), None, "without a code");
        }
        for wrong in [&b""[..], b"\x04abc", b"\x05abcdexxa", b"\x04abcdxxa b", b"\x04abcdxxa/b"] {
            assert_eq!(HitMeeting::parse(wrong), None, "{wrong:?}");
        }
        let long = [&b"\x04abcdxx"[..], &[b'a'; 65]].concat();
        assert_eq!(HitMeeting::parse(&long), None);
    }
}
