//! Sending datagrams to many peers with one system call, where the system can.

use std::io::IoSlice;
use std::net::SocketAddr;

use rustix::net::SocketAddrAny;
use rustix::net::addr::SocketAddrArg as _;
use rustix::net::{MMsgHdr, SendAncillaryBuffer, SendFlags, sendmmsg};
use tokio::net::UdpSocket;

/// Datagrams per call.
pub(crate) const MANY: usize = 64;

/// Sends datagrams, each to its address, until one is refused; returns how many
/// were sent. An error is about the first one.
pub(crate) fn send_many<'a>(
    socket: &UdpSocket,
    datagrams: impl Iterator<Item = (SocketAddr, &'a [u8])>,
) -> std::io::Result<usize> {
    let (to, slices): (Vec<SocketAddrAny>, Vec<[IoSlice<'_>; 1]>) =
        datagrams.map(|(to, bytes)| (to.as_any(), [IoSlice::new(bytes)])).unzip();
    let mut nothing: Vec<_> = to.iter().map(|_| SendAncillaryBuffer::default()).collect();
    let mut all: Vec<_> = to
        .iter()
        .zip(&slices)
        .zip(&mut nothing)
        .map(|((to, slice), nothing)| MMsgHdr::new_with_addr(to, slice, nothing))
        .collect();
    Ok(sendmmsg(socket, &mut all, SendFlags::DONTWAIT)?)
}
