//! What sockets do beyond reading and writing, and what their errors mean.

use std::fs::File;
use std::io;
use std::net::SocketAddr;

use rustix::io::Errno;
use rustix::net::RecvFlags;
use socket2::SockRef;
use tokio::io::Interest;
use tokio::net::{TcpStream, UdpSocket};

pub(crate) use super::cork::Cork;
pub(crate) use super::many::{MANY, send_many};
pub(crate) use super::timer::FineTimer;
pub(crate) use super::unacknowledged::unacknowledged;

/// Has the system send at most `count` bytes of the file directly (`sendfile`), and
/// moves `at` behind them.
pub(crate) fn send_file(
    tcp: &TcpStream,
    file: &File,
    at: &mut u64,
    count: usize,
) -> io::Result<usize> {
    tcp.try_io(Interest::WRITABLE, || Ok(rustix::fs::sendfile(tcp, file, Some(&mut *at), count)?))
}

/// Looks at what can be read, and leaves it there.
pub(crate) fn peek(tcp: &TcpStream, into: &mut [u8]) -> io::Result<usize> {
    let (read, _) = rustix::net::recv(tcp, into, RecvFlags::PEEK)?;
    Ok(read)
}

/// Connects a socket to the same peer from the address that this machine has now.
pub(crate) fn connect_anew(udp: &UdpSocket, peer: SocketAddr) -> io::Result<()> {
    Ok(rustix::net::connect_unspec(udp).and_then(|()| rustix::net::connect(udp, &peer))?)
}

/// Has the system take little more than it can send at once: what waits for a slow peer
/// then waits here, where it is seen and bounded.
pub(crate) fn limit_unsent(tcp: &TcpStream, bytes: u32) -> io::Result<()> {
    SockRef::from(tcp).set_tcp_notsent_lowat(bytes)
}

/// True for the error that another program has the port.
pub fn is_port_in_use(why: &io::Error) -> bool {
    why.kind() == io::ErrorKind::AddrInUse
}

/// True when the program that reads what we write has gone.
pub fn is_closed_pipe(why: &io::Error) -> bool {
    why.kind() == io::ErrorKind::BrokenPipe
}

/// True for the error that too many files are open.
pub(crate) fn has_no_descriptor(why: &io::Error) -> bool {
    matches!(Errno::from_io_error(why), Some(Errno::MFILE | Errno::NFILE))
}

/// True when sending a file failed because of the file, not of the peer.
pub(crate) fn is_of_the_disk(why: &io::Error) -> bool {
    matches!(Errno::from_io_error(why), Some(Errno::IO | Errno::OVERFLOW | Errno::INVAL))
}
