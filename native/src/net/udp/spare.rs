//! A socket beside that of an endpoint, one of many.

use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::slice::Chunks;

use quinn_udp::{RecvMeta, Transmit};
use socket2::{Domain, Protocol, Socket as RawSocket, Type};
use tokio::io::Interest;
use tokio::net::UdpSocket;

use super::BUFFER;
use crate::sys::Batches;

/// A socket whose datagrams no router cuts up, as those of an endpoint: how large they may
/// be is found out by what is lost.
pub(crate) struct SpareSocket {
    udp: UdpSocket,
    batches: Batches,
}

impl SpareSocket {
    /// Must be called inside a runtime.
    pub(crate) fn bind(at: SocketAddr) -> io::Result<Self> {
        let raw = RawSocket::new(Domain::for_address(at), Type::DGRAM, Some(Protocol::UDP))?;
        raw.bind(&at.into())?;
        let batches = Batches::new(&raw)?;
        Ok(Self { udp: UdpSocket::from_std(raw.into())?, batches })
    }

    /// Room for what one call receives.
    pub(crate) fn buffer() -> Vec<u8> {
        vec![0; BUFFER]
    }

    /// Sends one datagram.
    pub(crate) async fn send_to(&self, data: &[u8], to: SocketAddr) -> io::Result<()> {
        let transmit = Transmit {
            destination: to,
            ecn: None,
            contents: data,
            segment_size: None,
            src_ip: None,
        };
        let send = || self.batches.send(&self.udp, &transmit);
        self.udp.async_io(Interest::WRITABLE, send).await
    }

    /// The datagrams of one peer that came together.
    pub(crate) async fn recv_from<'a>(
        &self,
        into: &'a mut [u8],
    ) -> io::Result<(Chunks<'a, u8>, SocketAddr)> {
        let mut metas = [RecvMeta::default()];
        let receive = || {
            let mut slices = [IoSliceMut::new(into)];
            self.batches.receive(&self.udp, &mut slices, &mut metas)
        };
        self.udp.async_io(Interest::READABLE, receive).await?;
        let [RecvMeta { addr, len, stride, .. }] = metas;
        Ok((into[..len].chunks(stride.max(1)), addr))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{LossRate, UdpEndpoint};
    use super::*;

    #[cfg(target_os = "linux")] // What the system was told can be read there.
    #[tokio::test]
    async fn no_socket_that_carries_a_connection_has_its_datagrams_cut_up() {
        use rustix::net::sockopt::{
            Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery, ip_mtu_discover, ipv6_mtu_discover,
        };
        for at in ["127.0.0.1:0", "0.0.0.0:0", "[::1]:0", "[::]:0"] {
            let at: SocketAddr = at.parse().unwrap();
            let Ok(main) = UdpEndpoint::bind((at, None), LossRate::NONE, 1) else { continue };
            let spare = SpareSocket::bind(at).unwrap();
            for (name, udp) in [("an endpoint's", &main.udp), ("a spare one", &spare.udp)] {
                let v6 = at.is_ipv6().then(|| ipv6_mtu_discover(udp).unwrap());
                assert!(v6.is_none_or(|it| it == Ipv6PathMtuDiscovery::PROBE), "{name} at {at}");
                if v6.is_none() || at.ip().is_unspecified() {
                    let v4 = ip_mtu_discover(udp).unwrap();
                    assert_eq!(v4, Ipv4PathMtuDiscovery::PROBE, "{name} at {at}");
                }
            }
        }
    }

    #[tokio::test]
    async fn datagrams_that_come_together_are_told_apart() {
        let at = "127.0.0.1:0".parse().unwrap();
        let here = SpareSocket::bind(at).unwrap();
        let mut there = UdpEndpoint::bind((at, None), LossRate::NONE, 1).unwrap();
        let to = here.udp.local_addr().unwrap();
        there.send(to, 1_000, vec![7; 3_500].into(), || false);
        while !there.is_flushed() {
            there.ready().await.unwrap();
            there.flush();
        }
        let (mut buffer, mut lengths) = (SpareSocket::buffer(), Vec::new());
        while lengths.len() < 4 {
            let (datagrams, peer) = here.recv_from(&mut buffer).await.unwrap();
            assert_eq!(peer, there.local());
            lengths.extend(datagrams.map(<[u8]>::len));
        }
        assert_eq!(lengths, [1_000, 1_000, 1_000, 500]);
        here.send_to(&[1; 8], there.local()).await.unwrap();
        let mut trains = Vec::new();
        while trains.is_empty() {
            there.ready().await.unwrap();
            there.receive(&mut trains);
        }
        assert_eq!((trains[0].peer, trains[0].data.len()), (to, 8));
    }
}
