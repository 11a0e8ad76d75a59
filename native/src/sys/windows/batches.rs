//! Many datagrams of one peer with one system call, in both directions, where the
//! system can. Wine 8 cannot: there each call carries one datagram.

use std::io::{self, IoSliceMut};

use quinn_udp::{RecvMeta, Transmit, UdpSocketState};
use socket2::{SockRef, Socket};
use tokio::net::UdpSocket;

/// "The operation is not supported": how wine refuses what only libraries ask for.
const NOT_SUPPORTED: i32 = 10_045;

/// What the system offers beyond one datagram a call; nothing where that cannot be had.
pub(crate) struct Batches(Option<UdpSocketState>);

impl Batches {
    /// For a bound socket, which does not block afterwards.
    pub(crate) fn new(socket: &Socket) -> io::Result<Self> {
        match UdpSocketState::new(socket.into()) {
            Ok(state) => Ok(Self(Some(state))),
            Err(why) if why.raw_os_error() == Some(NOT_SUPPORTED) => {
                socket.set_nonblocking(true)?;
                Ok(Self(None))
            }
            Err(why) => Err(why),
        }
    }

    /// Receives what is there; returns how many of the buffers were filled.
    pub(crate) fn receive(
        &self,
        udp: &UdpSocket,
        into: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> io::Result<usize> {
        if let Some(state) = &self.0 {
            return state.recv(udp.into(), into, metas);
        }
        let (Some(buffer), Some(meta)) = (into.first_mut(), metas.first_mut()) else {
            return Ok(0);
        };
        // The two calls of the socket itself ask the runtime, which asked us.
        let second = SockRef::from(udp).try_clone()?;
        let (length, from) = std::net::UdpSocket::from(second).recv_from(buffer)?;
        *meta = RecvMeta::default();
        (meta.addr, meta.len, meta.stride) = (from, length, length);
        Ok(1)
    }

    /// Sends datagrams to one peer.
    pub(crate) fn send(&self, udp: &UdpSocket, transmit: &Transmit<'_>) -> io::Result<()> {
        match &self.0 {
            Some(state) => state.try_send(udp.into(), transmit),
            None => {
                let to = transmit.destination.into();
                SockRef::from(udp).send_to(transmit.contents, &to).map(|_| ())
            }
        }
    }

    /// True when [`Transmit::ecn`] reaches the IP header: not here. Routers drop
    /// datagrams from here where they would mark others.
    #[expect(clippy::unused_self, reason = "another system has to look")]
    pub(crate) const fn sets_ecn(&self) -> bool {
        false
    }

    /// How many datagrams one call sends.
    pub(crate) fn most(&self) -> usize {
        self.0.as_ref().map_or(1, UdpSocketState::max_gso_segments)
    }
}
