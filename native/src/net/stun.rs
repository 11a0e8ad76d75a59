//! Tells a page the address from which its datagrams come (STUN, RFC 8489): in a
//! browser that hides it behind a name, that is how another page can learn it.
//!
//! By hand, because of the protocol only this is needed: a request of 20 bytes,
//! answered with one attribute and nothing to remember.

use std::net::{IpAddr, SocketAddr};

use servent_core::time::{Duration, Instant};

/// Begins every message (RFC 8489 §5), behind its type and its length.
const COOKIE: [u8; 4] = [0x21, 0x12, 0xa4, 0x42];
/// Bytes of a message before its attributes.
const HEADER: usize = 20;
const REQUEST: [u8; 2] = [0x00, 0x01];
const SUCCESS: [u8; 2] = [0x01, 0x01];
const XOR_MAPPED_ADDRESS: [u8; 2] = [0x00, 0x20];
/// The first type of an attribute that need not be understood (§14).
const OPTIONAL: u16 = 0x8000;
/// Requests that are answered in a second, of all clients together at one socket: an
/// answer is larger than its request, and its receiver may be forged.
const ANSWERS: u32 = 500;

/// How many were answered lately.
#[derive(Debug, Default)]
pub(super) struct Stun {
    second: Instant,
    answers: u32,
}

impl Stun {
    /// The answer to a datagram; `None` when it is no request, or there are too
    /// many.
    pub(super) fn answer(
        &mut self,
        now: Instant,
        from: SocketAddr,
        data: &[u8],
    ) -> Option<Vec<u8>> {
        let transaction = request(data)?;
        if now.since(self.second) >= Duration::from_secs(1) {
            (self.second, self.answers) = (now, 0);
        }
        self.answers += 1;
        (self.answers <= ANSWERS).then(|| success(transaction, from))
    }
}

/// The transaction of a binding request without a demand that is not understood
/// here.
fn request(data: &[u8]) -> Option<&[u8]> {
    let (header, mut attributes) = data.split_at_checked(HEADER)?;
    let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
    if header[..2] != REQUEST || header[4..8] != COOKIE || length != attributes.len() {
        return None;
    }
    while !attributes.is_empty() {
        let ([kind, more, high, low], rest) = attributes.split_first_chunk()?;
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        let optional = u16::from_be_bytes([*kind, *more]) >= OPTIONAL;
        attributes = rest.get(length.next_multiple_of(4)..).filter(|_| optional)?;
    }
    Some(&header[8..])
}

/// Where the request came from (§14.2).
fn success(transaction: &[u8], from: SocketAddr) -> Vec<u8> {
    let ip = from.ip().to_canonical();
    let (family, mut address) = match ip {
        IpAddr::V4(ip) => (1, ip.octets().to_vec()),
        IpAddr::V6(ip) => (2, ip.octets().to_vec()),
    };
    let key = COOKIE.iter().chain(transaction);
    address.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
    let port = from.port() ^ u16::from_be_bytes([COOKIE[0], COOKIE[1]]);
    let length = 4 + address.len() as u16;
    let mut out = Vec::with_capacity(HEADER + 4 + usize::from(length));
    out.extend(SUCCESS);
    out.extend((4 + length).to_be_bytes());
    out.extend(COOKIE);
    out.extend(transaction);
    out.extend(XOR_MAPPED_ADDRESS);
    out.extend(length.to_be_bytes());
    out.extend([0, family]);
    out.extend(port.to_be_bytes());
    out.extend(address);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRANSACTION: [u8; 12] =
        [0xb7, 0xe7, 0xa7, 0x01, 0xbc, 0x34, 0xd6, 0x86, 0xfa, 0x87, 0xdf, 0xae];

    fn asked(attributes: &[u8]) -> Vec<u8> {
        let length = (attributes.len() as u16).to_be_bytes();
        [&REQUEST[..], &length, &COOKIE, &TRANSACTION, attributes].concat()
    }

    fn answer(from: &str, data: &[u8]) -> Option<Vec<u8>> {
        Stun::default().answer(Instant::from_secs(1), from.parse().unwrap(), data)
    }

    /// WB-4
    #[test]
    fn the_addresses_of_the_specification_are_told_as_there() {
        // RFC 5769 §2.2 and §2.3, without what is optional.
        let mapped = [0, 0x20, 0, 8, 0, 1, 0xa1, 0x47, 0xe1, 0x12, 0xa6, 0x43];
        let told = answer("192.0.2.1:32853", &asked(&[])).unwrap();
        let header = [&SUCCESS[..], &[0, 12], &COOKIE, &TRANSACTION].concat();
        assert_eq!(told, [&header[..], &mapped].concat());
        let told = answer("[2001:db8:1234:5678:11:2233:4455:6677]:32853", &asked(&[])).unwrap();
        let mapped = [
            0, 0x20, 0, 20, 0, 2, 0xa1, 0x47, 0x01, 0x13, 0xa9, 0xfa, 0xa5, 0xd3, 0xf1, 0x79, 0xbc,
            0x25, 0xf4, 0xb5, 0xbe, 0xd2, 0xb9, 0xd9,
        ];
        assert_eq!(told[HEADER..], mapped);
    }

    #[test]
    fn only_a_request_is_answered_and_not_without_end() {
        let at = "10.0.0.7:5000";
        assert!(answer(at, &asked(&[0x80, 0x22, 0, 3, b'a', b'b', b'c', 0])).is_some());
        let whole = asked(&[]);
        for wrong in [
            &whole[..HEADER - 1],
            &[&whole[..], &[0]].concat(),
            &answer(at, &whole).unwrap(),
            &asked(&[0x00, 0x06, 0, 0]), // A user name.
            &asked(&[0x80, 0x22, 0xff, 0xff]),
            &asked(&[0x80, 0x22]),
            b"",
        ] {
            assert_eq!(answer(at, wrong), None, "{wrong:?}");
        }
        let (mut stun, from) = (Stun::default(), at.parse().unwrap());
        let mut answered =
            |now| (0..2 * ANSWERS).filter(|_| stun.answer(now, from, &whole).is_some()).count();
        assert_eq!(answered(Instant::from_secs(7)), ANSWERS as usize);
        assert_eq!(answered(Instant::from_secs(7)), 0);
        assert_eq!(answered(Instant::from_secs(8)), ANSWERS as usize);
    }
}
