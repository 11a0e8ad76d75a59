//! One TCP segment or one datagram, in one IP packet.

use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

pub(super) const FIN: u8 = 0x01;
pub(super) const SYN: u8 = 0x02;
pub(super) const PSH: u8 = 0x08;
pub(super) const ACK: u8 = 0x10;

const TCP_HEADER: usize = 20;
const UDP_HEADER: usize = 8;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Source and destination; both of one address family.
pub(super) struct Ends {
    pub(super) from: SocketAddr,
    pub(super) to: SocketAddr,
}

/// A TCP segment to be written.
pub(super) struct Segment<'a> {
    pub(super) ends: Ends,
    pub(super) number: u32,
    pub(super) acknowledged: u32,
    pub(super) flags: u8,
    pub(super) data: &'a [u8],
    /// Bytes that belong to it and are not captured.
    pub(super) absent: u32,
}

impl Ends {
    /// The IP header before a payload of so many bytes.
    fn header(&self, protocol: u8, payload: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(40 + payload);
        match (self.from.ip(), self.to.ip()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                out.extend_from_slice(&[0x45, 0]);
                out.extend_from_slice(&((20 + payload) as u16).to_be_bytes());
                // No id, do not fragment, 64 hops, and the checksum below.
                out.extend_from_slice(&[0, 0, 0x40, 0, 64, protocol, 0, 0]);
                out.extend_from_slice(&from.octets());
                out.extend_from_slice(&to.octets());
                let sum = checksum(&[&out]);
                out[10..12].copy_from_slice(&sum.to_be_bytes());
            }
            (from, to) => {
                out.extend_from_slice(&[0x60, 0, 0, 0]);
                out.extend_from_slice(&(payload as u16).to_be_bytes());
                out.extend_from_slice(&[protocol, 64]);
                out.extend_from_slice(&six(from));
                out.extend_from_slice(&six(to));
            }
        }
        out
    }

    fn ports(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.from.port().to_be_bytes());
        out.extend_from_slice(&self.to.port().to_be_bytes());
    }

    /// What the checksum covers besides the bytes themselves.
    fn pseudo_header(&self, protocol: u8, length: usize) -> Vec<u8> {
        let mut head = Vec::with_capacity(40);
        for end in [self.from.ip(), self.to.ip()] {
            match end {
                IpAddr::V4(a) => head.extend_from_slice(&a.octets()),
                IpAddr::V6(a) => head.extend_from_slice(&a.octets()),
            }
        }
        head.extend_from_slice(&(length as u32).to_be_bytes());
        head.extend_from_slice(&[0, 0, 0, protocol]);
        head
    }

    /// A packet with a datagram.
    pub(super) fn datagram(&self, data: &[u8]) -> Vec<u8> {
        let length = UDP_HEADER + data.len();
        let mut out = self.header(UDP, length);
        let udp = out.len();
        self.ports(&mut out);
        out.extend_from_slice(&(length as u16).to_be_bytes());
        out.extend_from_slice(&[0, 0]);
        out.extend_from_slice(data);
        // Zero would mean that there is no checksum.
        let sum = match checksum(&[&self.pseudo_header(UDP, length), &out[udp..]]) {
            0 => u16::MAX,
            sum => sum,
        };
        out[udp + 6..udp + 8].copy_from_slice(&sum.to_be_bytes());
        out
    }
}

impl Segment<'_> {
    /// The captured part of the packet, and its whole length.
    pub(super) fn print(&self) -> (Vec<u8>, u32) {
        let payload = TCP_HEADER + self.data.len() + self.absent as usize;
        let mut out = self.ends.header(TCP, payload);
        let whole = (out.len() + payload) as u32;
        let tcp = out.len();
        self.ends.ports(&mut out);
        out.extend_from_slice(&self.number.to_be_bytes());
        out.extend_from_slice(&self.acknowledged.to_be_bytes());
        out.extend_from_slice(&[0x50, self.flags, 0xff, 0xff, 0, 0, 0, 0]);
        out.extend_from_slice(self.data);
        // The checksum of bytes that are not there is unknown: left at zero.
        if self.absent == 0 {
            let sum = checksum(&[&self.ends.pseudo_header(TCP, payload), &out[tcp..]]);
            out[tcp + 16..tcp + 18].copy_from_slice(&sum.to_be_bytes());
        }
        (out, whole)
    }
}

fn six(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(a) => a.to_ipv6_mapped().octets(),
        IpAddr::V6(a) => a.octets(),
    }
}

/// The internet checksum over parts; all but the last must have an even length.
fn checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0u32;
    for part in parts {
        for pair in part.chunks(2) {
            let low = pair.get(1).copied().unwrap_or(0);
            sum += u32::from(u16::from_be_bytes([pair[0], low]));
        }
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_add_up_to_nothing() {
        let ends =
            Ends { from: "10.0.0.1:6346".parse().unwrap(), to: "10.0.0.2:4000".parse().unwrap() };
        let s =
            Segment { ends, number: 7, acknowledged: 9, flags: ACK | PSH, data: b"odd", absent: 0 };
        let (bytes, whole) = s.print();
        assert_eq!((bytes.len(), whole), (43, 43));
        // Computed over bytes that include it, the checksum is zero.
        assert_eq!(checksum(&[&bytes[..20]]), 0);
        assert_eq!(checksum(&[&s.ends.pseudo_header(TCP, 23), &bytes[20..]]), 0);
    }

    #[test]
    fn a_datagram_is_whole_and_its_checksum_right() {
        for (from, to) in [("10.0.0.1:7", "10.0.0.2:8"), ("[::1]:7", "[::1]:8")] {
            let ends = Ends { from: from.parse().unwrap(), to: to.parse().unwrap() };
            let bytes = ends.datagram(b"odd");
            let udp = &bytes[bytes.len() - 11..];
            assert_eq!(udp[..6], [0, 7, 0, 8, 0, 11]);
            assert_eq!(checksum(&[&ends.pseudo_header(UDP, 11), udp]), 0);
        }
    }

    #[test]
    fn absent_bytes_count_and_are_not_there() {
        let ends = Ends { from: "[::1]:6346".parse().unwrap(), to: "[::1]:4000".parse().unwrap() };
        let s = Segment { ends, number: 0, acknowledged: 0, flags: ACK, data: &[], absent: 1_000 };
        let (bytes, whole) = s.print();
        assert_eq!((bytes.len(), whole), (60, 1_060));
    }
}
