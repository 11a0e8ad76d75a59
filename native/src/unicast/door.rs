//! The door of a meeting place: the same datagrams over TCP, one in each message of a
//! WebSocket, for those whose network blocks UDP (PA-13).

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::{SinkExt as _, StreamExt as _};
use servent_core::address::owner;
use servent_core::meet::door_address;
use servent_core::node::{MeetAnswer, MeetCommand, NodeCommand};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, accept_async_with_config, client_async_with_config};

use super::visit::MeetNews;
use super::{Endpoint, LARGEST};
use crate::driver::Handle;
use crate::driver::datagrams::{Detour, SharedEndpoint};
use crate::net::udp::canonical;

/// How long a place may be silent over UDP until its door is tried.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long it may take to get through a door.
const OPENING: Duration = Duration::from_secs(3);
/// How long a visitor may be silent.
const SILENCE: Duration = Duration::from_secs(300);
/// The pause after the system had no connection to give.
const PAUSE: Duration = Duration::from_millis(100);

/// How many may come through a door.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DoorLimits {
    /// At the same time.
    pub visitors: usize,
    /// Of them from one address; an IPv6 /64 network counts as one.
    pub per_ip: usize,
}

impl Default for DoorLimits {
    fn default() -> Self {
        Self { visitors: 512, per_ip: 16 }
    }
}

impl Endpoint {
    /// Lets visitors in whose network blocks UDP, until the task is ended.
    pub fn open_door(
        &self,
        listener: TcpListener,
        limits: DoorLimits,
    ) -> impl Future<Output = ()> + Send + use<> {
        let (shared, servent) = (Arc::clone(&self.shared), self.servent().clone());
        async move {
            let inside = Arc::new(DoorCount { limits, visitors: Mutex::default() });
            loop {
                let Ok((tcp, peer)) = listener.accept().await else {
                    sleep(PAUSE).await; // Most often there are too many open files.
                    continue;
                };
                let Some(seat) = DoorSeat::take(&inside, peer) else { continue };
                let (shared, servent) = (Arc::clone(&shared), servent.clone());
                tokio::spawn(async move {
                    if let Err(why) = let_in((&shared, &servent), tcp, canonical(peer)).await {
                        tracing::debug!(%peer, %why, "the door");
                    }
                    drop(seat);
                });
            }
        }
    }
}

/// Tries the doors of a place that does not answer over UDP.
pub(super) async fn fall_back(
    shared: &Arc<SharedEndpoint>,
    mut news: MeetNews,
    places: Vec<SocketAddr>,
) {
    let answered = async {
        while let Some(answer) = news.next().await {
            let answers = matches!(
                answer,
                MeetAnswer::Located { .. } | MeetAnswer::Waiting { .. } | MeetAnswer::Met { .. }
            );
            if answers {
                return;
            }
        }
    };
    if timeout(PATIENCE, answered).await.is_ok() {
        return;
    }
    drop(news);
    for place in places {
        match timeout(OPENING, go_in(place)).await {
            Ok(Ok(socket)) => {
                if let Some(detour) = Detour::open(shared, place) {
                    // Longer than the visit: what is relayed goes on.
                    tokio::spawn(async move {
                        let ended = pump(socket, detour).await;
                        tracing::debug!(%place, ?ended, "left the door");
                    });
                }
                return;
            }
            Ok(Err(why)) => tracing::debug!(%place, %why, "no door"),
            Err(_) => tracing::debug!(%place, "no door answers"),
        }
    }
}

fn messages() -> WebSocketConfig {
    let most = LARGEST as usize;
    WebSocketConfig::default()
        .max_message_size(Some(most))
        .max_frame_size(Some(most))
        .read_buffer_size(16 << 10)
        .write_buffer_size(16 << 10)
}

async fn go_in(place: SocketAddr) -> io::Result<WebSocketStream<TcpStream>> {
    let tcp = TcpStream::connect(place).await?;
    tcp.set_nodelay(true)?;
    let opened = client_async_with_config(format!("ws://{place}/meet"), tcp, Some(messages()));
    opened.await.map(|(socket, _)| socket).map_err(io::Error::other)
}

async fn let_in(
    (shared, servent): (&Arc<SharedEndpoint>, &Handle),
    tcp: TcpStream,
    peer: SocketAddr,
) -> io::Result<()> {
    tcp.set_nodelay(true)?;
    let opened = timeout(OPENING, accept_async_with_config(tcp, Some(messages())));
    let socket = opened.await?.map_err(io::Error::other)?;
    let at = door_address(peer);
    let Some(detour) = Detour::open(shared, at) else {
        return Err(io::ErrorKind::AddrInUse.into());
    };
    let ended = pump(socket, detour).await;
    // Its seat and its meeting end with it: the other side need not wait.
    let _ = servent.command(NodeCommand::Meet(MeetCommand::Lost { at })).await; // It may have ended.
    ended
}

/// Moves datagrams both ways until one side ends.
async fn pump(socket: WebSocketStream<TcpStream>, detour: Detour) -> io::Result<()> {
    let (mut sink, mut stream) = socket.split();
    let (entry, mut way_out) = detour.split();
    let outward = async {
        while let Some(data) = way_out.recv().await {
            sink.feed(Message::Binary(data)).await?;
            while let Ok(data) = way_out.try_recv() {
                sink.feed(Message::Binary(data)).await?;
            }
            sink.flush().await?;
            entry.emptied();
        }
        sink.close().await
    };
    let inward = async {
        loop {
            match timeout(SILENCE, stream.next()).await? {
                Some(Ok(Message::Binary(data))) => entry.deliver(data),
                Some(Ok(Message::Close(_))) | None => return Ok(()),
                Some(Ok(_)) => {}
                Some(Err(why)) => return Err(io::Error::other(why)),
            }
        }
    };
    // Both at once: a side that only writes would wait for one that only writes.
    tokio::select! {
        ended = outward => ended.map_err(io::Error::other),
        ended = inward => ended,
    }
}

/// How many are inside, of each owner of addresses.
#[derive(Debug)]
struct DoorCount {
    limits: DoorLimits,
    visitors: Mutex<BTreeMap<IpAddr, usize>>,
}

/// One visitor that is counted.
#[derive(Debug)]
struct DoorSeat {
    count: Arc<DoorCount>,
    owner: IpAddr,
}

impl DoorSeat {
    fn take(count: &Arc<DoorCount>, peer: SocketAddr) -> Option<Self> {
        let owner = owner(peer.ip());
        let mut visitors = count.visitors.lock().unwrap_or_else(PoisonError::into_inner);
        let all: usize = visitors.values().sum();
        let ours = visitors.get(&owner).copied().unwrap_or(0);
        if all >= count.limits.visitors || ours >= count.limits.per_ip {
            return None;
        }
        visitors.insert(owner, ours + 1);
        drop(visitors);
        Some(Self { count: Arc::clone(count), owner })
    }
}

impl Drop for DoorSeat {
    fn drop(&mut self) {
        let mut visitors = self.count.visitors.lock().unwrap_or_else(PoisonError::into_inner);
        match visitors.get_mut(&self.owner) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(visitors.remove(&self.owner)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_cannot_keep_the_others_out() {
        let limits = DoorLimits { visitors: 3, per_ip: 2 };
        let inside = Arc::new(DoorCount { limits, visitors: Mutex::default() });
        let take = |text: &str| DoorSeat::take(&inside, text.parse().unwrap());
        let (one, two) = (take("192.0.2.1:1").unwrap(), take("192.0.2.1:2").unwrap());
        assert!(take("192.0.2.1:3").is_none(), "it has its share");
        let other = take("192.0.2.2:1").unwrap();
        assert!(take("192.0.2.3:1").is_none(), "there is no more room");
        drop((one, two, other));
        assert!(take("192.0.2.3:1").is_some());
        assert!(inside.visitors.lock().unwrap().is_empty(), "nothing is kept of them");
    }
}
