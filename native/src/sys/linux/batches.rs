//! Many datagrams of one peer with one system call, in both directions.

use std::io::{self, IoSliceMut};

use quinn_udp::{RecvMeta, Transmit, UdpSocketState};
use socket2::Socket;
use tokio::net::UdpSocket;

/// What the system offers beyond one datagram a call.
pub(crate) struct Batches(UdpSocketState);

impl Batches {
    /// For a bound socket, which does not block afterwards.
    pub(crate) fn new(socket: &Socket) -> io::Result<Self> {
        UdpSocketState::new(socket.into()).map(Self)
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

    /// How many datagrams one call sends.
    pub(crate) fn most(&self) -> usize {
        self.0.max_gso_segments()
    }
}
