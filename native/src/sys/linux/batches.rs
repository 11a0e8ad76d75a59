//! Many datagrams of one peer with one system call, in both directions.

use std::io::{self, IoSliceMut};

use quinn_udp::{RecvMeta, Transmit, UdpSocketState};
use socket2::Socket;
use tokio::net::UdpSocket;

use super::untimed::omit_arrival_times;

/// What the system offers beyond one datagram a call.
pub(crate) struct Batches(UdpSocketState);

impl Batches {
    /// For a bound socket, which does not block afterwards.
    pub(crate) fn new(socket: &Socket) -> io::Result<Self> {
        let state = UdpSocketState::new(socket.into())?;
        // Where it fails nothing was asked for.
        let _ = omit_arrival_times(socket);
        Ok(Self(state))
    }

    /// Receives what is there; returns how many of the buffers were filled.
    pub(crate) fn receive(
        &self,
        udp: &UdpSocket,
        into: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> io::Result<usize> {
        self.0.recv(udp.into(), into, metas)
    }

    /// Sends datagrams to one peer.
    pub(crate) fn send(&self, udp: &UdpSocket, transmit: &Transmit<'_>) -> io::Result<()> {
        self.0.try_send(udp.into(), transmit)
    }

    /// True when [`Transmit::ecn`] reaches the IP header (RFC 3168).
    #[expect(clippy::unused_self, reason = "another system has to look")]
    pub(crate) const fn sets_ecn(&self) -> bool {
        true
    }

    /// How many datagrams one call sends.
    pub(crate) fn most(&self) -> usize {
        self.0.max_gso_segments()
    }
}
