//! What sockets do beyond reading and writing, what their errors mean, and what is
//! missing here: speed, and finer answers, but nothing else.

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::windows::io::AsSocket as _;
use std::time::Duration;

use socket2::SockRef;
use tokio::net::{TcpStream, UdpSocket};

use super::files::FileAt as _;

/// Datagrams per call.
pub(crate) const MANY: usize = 1;
/// Bytes of a file that are read at a time.
const READ: usize = 1 << 16;
/// Errors of reading a file: of the disk, of its medium, of a lock, beyond its end.
const OF_THE_DISK: [i32; 7] = [23, 27, 30, 33, 38, 1_117, 1_392];
/// Errors for too many open files and sockets.
const NO_DESCRIPTOR: [i32; 2] = [4, 10_024];

/// Nothing is at the other end of the pipe.
const NO_READER: i32 = 233;

thread_local! {
    static COPY: RefCell<Vec<u8>> = RefCell::new(vec![0; READ]);
}

/// Sends at most `count` bytes of the file, and moves `at` behind them.
pub(crate) fn send_file(
    tcp: &TcpStream,
    file: &File,
    at: &mut u64,
    count: usize,
) -> io::Result<usize> {
    COPY.with_borrow_mut(|buffer| {
        let read = file.read_at(&mut buffer[..count.min(READ)], *at)?;
        let sent = if read == 0 { 0 } else { tcp.try_write(&buffer[..read])? };
        *at += sent as u64;
        Ok(sent)
    })
}

/// Looks at what can be read, and leaves it there.
pub(crate) fn peek(tcp: &TcpStream, into: &mut [u8]) -> io::Result<usize> {
    let second = tcp.as_socket().try_clone_to_owned()?;
    std::net::TcpStream::from(second).peek(into)
}

/// Bytes that the peer has not acknowledged, which are not known here: what the
/// system has taken counts as sent.
pub(crate) fn unacknowledged(_tcp: &TcpStream) -> u64 {
    0
}

/// Connects a socket to the same peer from the address that this machine has now.
pub(crate) fn connect_anew(udp: &UdpSocket, peer: SocketAddr) -> io::Result<()> {
    SockRef::from(udp).connect(&peer.into())
}

/// Sends a datagram to its address; returns how many were sent.
pub(crate) fn send_many<'a>(
    udp: &UdpSocket,
    mut datagrams: impl Iterator<Item = (SocketAddr, &'a [u8])>,
) -> io::Result<usize> {
    let Some((to, bytes)) = datagrams.next() else { return Ok(0) };
    SockRef::from(udp).send_to(bytes, &to.into())?;
    Ok(1)
}

/// Bounds what the system takes: as it cannot tell what is under way from what waits,
/// both together, which makes distant peers slower.
pub(crate) fn limit_unsent(tcp: &TcpStream, bytes: u32) -> io::Result<()> {
    SockRef::from(tcp).set_send_buffer_size(4 * bytes as usize)
}

/// True for the error that another program has the port: where that one wants it for
/// itself, as servers do, the system says that access is denied.
pub fn is_port_in_use(why: &io::Error) -> bool {
    matches!(why.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied)
}

/// True when the program that reads what we write has gone.
pub fn is_closed_pipe(why: &io::Error) -> bool {
    why.kind() == io::ErrorKind::BrokenPipe || why.raw_os_error() == Some(NO_READER)
}

/// True for the error that too many files are open.
pub(crate) fn has_no_descriptor(why: &io::Error) -> bool {
    why.raw_os_error().is_some_and(|number| NO_DESCRIPTOR.contains(&number))
}

/// True when sending a file failed because of the file, not of the peer.
pub(crate) fn is_of_the_disk(why: &io::Error) -> bool {
    why.raw_os_error().is_some_and(|number| OF_THE_DISK.contains(&number))
}

/// While this exists a socket would send full packets only, where the system could.
pub(crate) struct Cork;

impl Cork {
    /// Only speed is lost.
    pub(crate) fn new(_tcp: &TcpStream) -> Self {
        Self
    }
}

/// The system has nothing finer than the runtime's timer.
pub(crate) struct FineTimer;

impl FineTimer {
    /// There is none.
    pub(crate) fn new() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Waits that long.
    pub(crate) async fn ring(&self, after: Duration) {
        tokio::time::sleep(after).await;
    }
}
