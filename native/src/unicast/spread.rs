//! Knocking from many sockets, for one whose router gives every destination another
//! port (PA-12): the other side guesses ports until it hits that of one of them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use quinn_udp::is_msg_size_err;
use servent_core::node::MeetAnswer;
use servent_core::wire::meet::is_of_chosen_path;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::visit::MeetNews;
use crate::driver::datagrams::{Detour, SharedEndpoint};
use crate::net::udp::spare::SpareSocket;
use crate::net::udp::{any_address, canonical};

/// How long the first guess that hits may take.
const GUESSING: Duration = Duration::from_secs(6);
/// How long the path that was found may be silent.
const SILENCE: Duration = Duration::from_secs(300);
/// How long several sockets may be heard at; then only the last one is kept.
const CHOOSING: Duration = Duration::from_secs(6);
/// Datagrams of all sockets that may wait.
const HEARD: usize = 1_024;

/// A path that was chosen leads by another socket only after it was silent for so long: any
/// host may send in the name of the peer.
const QUIET: Duration = Duration::from_millis(500);

/// A datagram, and at which socket it was heard.
type SpreadDatagram = (usize, Bytes);

/// Waits until a visit asks for many sockets, and knocks from them.
pub(super) async fn spread(shared: &Arc<SharedEndpoint>, mut news: MeetNews) {
    loop {
        match news.next().await {
            Some(MeetAnswer::Spread { to, sockets, knock }) => {
                let shared = Arc::clone(shared);
                // Longer than the visit: what was connected stays so.
                tokio::spawn(async move {
                    let sockets = knocking((to, sockets), &knock).await;
                    carry(&shared, to, sockets).await;
                });
                return;
            }
            Some(MeetAnswer::Failed { .. }) | None => return,
            Some(_) => {}
        }
    }
}

/// As many sockets as the system gives; each has knocked.
async fn knocking((to, count): (SocketAddr, u32), knock: &[u8]) -> Vec<Arc<SpareSocket>> {
    let mut sockets = Vec::new();
    for _ in 0..count {
        let Ok(socket) = SpareSocket::bind(any_address(to)) else { break };
        if socket.send_to(knock, to).await.is_ok() {
            sockets.push(Arc::new(socket));
        }
    }
    sockets
}

/// Carries the datagrams of the peer by the socket that heard it last; once a path is
/// chosen, by that on which it was.
async fn carry(shared: &Arc<SharedEndpoint>, to: SocketAddr, sockets: Vec<Arc<SpareSocket>>) {
    let (tell, mut heard) = mpsc::channel::<SpreadDatagram>(HEARD);
    let mut listening = JoinSet::new(); // They end with it.
    let mut each: Vec<_> = sockets
        .into_iter()
        .enumerate()
        .map(|(at, socket)| {
            let listens = listen((at, Arc::clone(&socket)), to, tell.clone());
            Some((socket, listening.spawn(listens)))
        })
        .collect();
    let Ok(Some((last, first))) = timeout(GUESSING, heard.recv()).await else { return };
    let Some(detour) = Detour::open(shared, to) else { return };
    let (entry, mut way_out) = detour.split();
    let mut path = SocketInUse::new(Instant::now(), last, is_of_chosen_path(&first));
    entry.deliver(&first).await;
    let chosen = Instant::now() + CHOOSING;
    loop {
        tokio::select! {
            came = timeout(SILENCE, heard.recv()) => {
                let Ok(Some((at, data))) = came else { return };
                path.heard(Instant::now(), at, is_of_chosen_path(&data));
                entry.deliver(&data).await;
            }
            data = way_out.next() => {
                let Some(data) = data else { return };
                if let Some((socket, _)) = each.get(path.socket).and_then(Option::as_ref) {
                    match socket.send_to(&data, to).await {
                        Err(why) if is_msg_size_err(&why) => entry.too_large(data.len()),
                        _ => {} // As if it were lost.
                    }
                }
                entry.emptied();
            }
            () = sleep_until(chosen), if each.iter().flatten().nth(1).is_some() => {
                for (at, one) in each.iter_mut().enumerate().filter(|(at, _)| *at != path.socket) {
                    if let Some((_, listens)) = one.take() {
                        tracing::trace!(at, "a socket that was not hit");
                        listens.abort();
                    }
                }
            }
        }
    }
}

/// The socket by which the peer is sent what is for it.
#[derive(Debug)]
struct SocketInUse {
    socket: usize,
    /// It is that of a chosen path.
    settled: bool,
    /// When the peer was heard at it last.
    heard: Instant,
}

impl SocketInUse {
    const fn new(now: Instant, socket: usize, settled: bool) -> Self {
        Self { socket, settled, heard: now }
    }

    /// The peer was heard at a socket, with what is sent only on a chosen path or not.
    fn heard(&mut self, now: Instant, socket: usize, settles: bool) {
        if socket == self.socket {
            (self.settled, self.heard) = (self.settled || settles, now);
        } else if !self.settled || settles && now >= self.heard + QUIET {
            *self = Self::new(now, socket, settles);
        }
    }
}

/// Hears the peer at one of the sockets.
async fn listen(
    (at, socket): (usize, Arc<SpareSocket>),
    from: SocketAddr,
    tell: mpsc::Sender<SpreadDatagram>,
) {
    let mut buffer = SpareSocket::buffer();
    loop {
        match socket.recv_from(&mut buffer).await {
            Ok((datagrams, peer)) if canonical(peer) == from => {
                for data in datagrams {
                    if tell.send((at, Bytes::copy_from_slice(data))).await.is_err() {
                        return;
                    }
                }
            }
            Ok(_) => {}
            // For example an ICMP error about the knock.
            Err(why) => tracing::debug!(%why, "a socket of many"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_forged_datagram_does_not_move_a_path_in_use() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut path = SocketInUse::new(start, 3, false);
        path.heard(at(1), 7, false);
        assert_eq!(path.socket, 7, "before one is chosen, the last that was heard");
        path.heard(at(2), 5, true);
        path.heard(at(3), 7, false);
        path.heard(at(400), 9, true);
        assert_eq!(path.socket, 5, "it was chosen, and is in use");
        path.heard(at(450), 5, false);
        path.heard(at(949), 9, true);
        assert_eq!(path.socket, 5, "what is heard there keeps it in use");
        path.heard(at(950), 9, false);
        assert_eq!(path.socket, 5, "a knock moves nothing");
        path.heard(at(950), 9, true);
        assert_eq!(path.socket, 9, "it was silent: the peer has chosen another");
    }
}
