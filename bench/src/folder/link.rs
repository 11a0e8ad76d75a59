//! A path with a latency: everything that arrives is forwarded half a round trip
//! later, whatever its rate, for each program in the same way.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread::spawn;
use std::time::{Duration, Instant};

use anyhow::Result;
use socket2::SockRef;

use crate::measure::{now, wait};

/// Bytes that are read at once.
const CHUNK: usize = 1 << 16;
/// Chunks on the way in each direction, at most.
const UNDER_WAY: usize = 8_192;
const KERNEL_BUFFER: usize = 4 << 20;

/// What is on the way, and when it arrives.
type Travelling = (Instant, Vec<u8>);

/// Where a program connects to in place of `to`: that address itself when there is
/// no latency. It lasts until the process ends.
pub(super) fn tcp(to: SocketAddr, round_trip: Duration) -> Result<SocketAddr> {
    if round_trip.is_zero() {
        return Ok(to);
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let at = listener.local_addr()?;
    spawn(move || {
        for near in listener.incoming().map_while(Result::ok) {
            // A server that has ended refuses: then the connection ends here too.
            let Ok(far) = TcpStream::connect(to) else { continue };
            let _ = both(&near, &far, round_trip / 2);
        }
    });
    Ok(at)
}

/// The same for datagrams of one sender.
pub(super) fn udp(to: SocketAddr, round_trip: Duration) -> Result<SocketAddr> {
    if round_trip.is_zero() {
        return Ok(to);
    }
    let near = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let far = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let at = near.local_addr()?;
    for socket in [&near, &far] {
        let socket = SockRef::from(socket);
        socket.set_recv_buffer_size(KERNEL_BUFFER)?;
        socket.set_send_buffer_size(KERNEL_BUFFER)?;
    }
    let (near, far, sender) = (Arc::new(near), Arc::new(far), Arc::new(OnceLock::new()));
    let one_way = round_trip / 2;
    let (entry, exit) = sync_channel(UNDER_WAY);
    let (from, knows) = (Arc::clone(&near), Arc::clone(&sender));
    spawn(move || take(&from, &entry, one_way, |at| _ = knows.set(at)));
    let onto = Arc::clone(&far);
    spawn(move || arrive(&exit, |bytes| onto.send_to(bytes, to).map(drop)));
    let (entry, exit) = sync_channel(UNDER_WAY);
    spawn(move || take(&far, &entry, one_way, |_| {}));
    spawn(move || {
        arrive(&exit, |bytes| match sender.get() {
            Some(at) => near.send_to(bytes, at).map(drop),
            None => Ok(()),
        })
    });
    Ok(at)
}

/// Both directions of a connection.
fn both(near: &TcpStream, far: &TcpStream, one_way: Duration) -> io::Result<()> {
    for (from, onto) in [(near, far), (far, near)] {
        let (mut from, mut onto) = (from.try_clone()?, onto.try_clone()?);
        onto.set_nodelay(true)?;
        let (entry, exit) = sync_channel(UNDER_WAY);
        spawn(move || {
            let mut buffer = vec![0; CHUNK];
            while let Ok(n @ 1..) = from.read(&mut buffer) {
                if entry.send((now() + one_way, buffer[..n].to_vec())).is_err() {
                    break;
                }
            }
        });
        spawn(move || {
            arrive(&exit, |bytes| onto.write_all(bytes));
            let _ = onto.shutdown(Shutdown::Write); // It may be closed already.
        });
    }
    Ok(())
}

/// Reads datagrams until nothing forwards them. What finds no room is lost.
fn take(
    from: &UdpSocket,
    entry: &SyncSender<Travelling>,
    one_way: Duration,
    knows: impl Fn(SocketAddr),
) {
    let mut buffer = vec![0; CHUNK];
    loop {
        match from.recv_from(&mut buffer) {
            Ok((n, at)) => {
                knows(at);
                let _ = entry.try_send((now() + one_way, buffer[..n].to_vec()));
            }
            // The other end is not there yet, or not any more.
            Err(why) if why.kind() == io::ErrorKind::ConnectionRefused => {}
            Err(_) => return,
        }
    }
}

/// Passes on what has travelled long enough.
fn arrive(exit: &Receiver<Travelling>, mut pass: impl FnMut(&[u8]) -> io::Result<()>) {
    for (due, bytes) in exit {
        wait(due.saturating_duration_since(now()));
        match pass(&bytes) {
            Err(why) if why.kind() != io::ErrorKind::ConnectionRefused => return,
            _ => {}
        }
    }
}
