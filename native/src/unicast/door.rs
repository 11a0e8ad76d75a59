//! The door of a meeting place: the same datagrams over TCP, one in each message of a
//! WebSocket, for those whose network blocks UDP (PA-13).

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use servent_core::address::owner;
use servent_core::meet::{OwnerHoldings, door_address};
use servent_core::node::{MeetAnswer, MeetCommand, NodeCommand};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::http::{HeaderValue, StatusCode, header};
use tokio_tungstenite::{WebSocketStream, accept_hdr_async_with_config, client_async_with_config};

use super::Endpoint;
use super::door_pump::{VisitorPatience, messages, pump, tune};
use super::visit::MeetNews;
use crate::driver::Handle;
use crate::driver::datagrams::{Detour, SharedEndpoint};
use crate::net::udp::canonical;

/// What is asked of a door.
const PATH: &str = "/meet";
/// How long a place may be silent over UDP until its door is tried.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long it may take to get through a door.
const OPENING: Duration = Duration::from_secs(3);
/// A door that takes longer to open was asked more than once: the first was lost.
const PROMPT: Duration = Duration::from_millis(900);
/// How long a place may then be silent over UDP once more: it is asked each second.
const CONFIRMING: Duration = Duration::from_millis(1_500);
/// How long a place may be silent behind its door.
const SILENCE: Duration = Duration::from_secs(300);
/// How long one may take nothing of what it is sent, while it goes on speaking.
const DEAF: Duration = Duration::from_secs(10);
/// The pause after the system had no connection to give.
const PAUSE: Duration = Duration::from_millis(100);

/// How many may come through a door, and how long they may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DoorLimits {
    /// At the same time. When there are as many, the address that has the most gives its
    /// oldest up for one that has fewer; IPv6 addresses are counted over /48 networks first.
    pub visitors: usize,
    /// Of them from one address; an IPv6 /64 network counts as one.
    pub per_ip: usize,
    /// How long the opening handshake may take.
    pub opening: Duration,
    /// How long a visitor may be there until the place has given it a seat.
    pub unseated: Duration,
    /// How long a visitor that has had a seat may be silent.
    pub silence: Duration,
    /// How long a visitor that goes on speaking may take nothing of what it is sent.
    pub deaf: Duration,
}

impl Default for DoorLimits {
    fn default() -> Self {
        let [opening, unseated, silence] = [3, 10, 300].map(Duration::from_secs);
        Self { visitors: 512, per_ip: 16, opening, unseated, silence, deaf: DEAF }
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
            let inside = Arc::new(DoorCount::new(limits));
            loop {
                let Ok((tcp, peer)) = listener.accept().await else {
                    sleep(PAUSE).await; // Most often there are too many open files.
                    continue;
                };
                let Some(seat) = DoorSeat::take(&inside, peer) else { continue };
                let (shared, servent) = (Arc::clone(&shared), servent.clone());
                tokio::spawn(async move {
                    let visit = let_in((&shared, &servent), (tcp, canonical(peer)), limits);
                    tokio::select! {
                        ended = visit => tracing::debug!(%peer, ?ended, "the door"),
                        () = seat.leave.notified() => tracing::debug!(%peer, "gave way"),
                    }
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
    tokio::pin!(answered);
    if timeout(PATIENCE, &mut answered).await.is_ok() {
        return;
    }
    for place in places {
        let begun = Instant::now();
        let opened = tokio::select! {
            () = &mut answered => return,
            opened = timeout(OPENING, go_in(place)) => opened,
        };
        match opened {
            Ok(Ok(socket)) => {
                // The line was dark until now, so what was asked over UDP was lost too.
                let late = begun.elapsed() >= PROMPT;
                if late && timeout(CONFIRMING, &mut answered).await.is_ok() {
                    return;
                }
                if let Some(detour) = Detour::open(shared, place) {
                    // Longer than the visit: what is relayed goes on.
                    tokio::spawn(async move {
                        let [unseated, silence, deaf] = [SILENCE, SILENCE, DEAF];
                        let patience = VisitorPatience { unseated, silence, deaf };
                        let ended = pump(socket, detour, patience).await;
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

async fn go_in(place: SocketAddr) -> io::Result<WebSocketStream<TcpStream>> {
    let tcp = TcpStream::connect(place).await?;
    tune(&tcp)?;
    let opened = client_async_with_config(format!("ws://{place}{PATH}"), tcp, Some(messages()));
    opened.await.map(|(socket, _)| socket).map_err(io::Error::other)
}

/// Refuses what no visitor asks. A browser lets every page open a WebSocket to every
/// address, and says whose page it is: it would bring a stranger's page to a place of a
/// private network. No page uses the door.
#[allow(clippy::result_large_err)] // The library's signature.
fn admit(request: &Request, response: Response) -> Result<Response, ErrorResponse> {
    let refused = if request.headers().contains_key(header::ORIGIN) {
        (StatusCode::FORBIDDEN, "The door of a meeting place is for programs, not for pages.\n")
    } else if request.uri().path() != PATH {
        (StatusCode::NOT_FOUND, "The door of a meeting place is at /meet.\n")
    } else {
        return Ok(response);
    };
    let mut refusal = ErrorResponse::new(Some(refused.1.into()));
    *refusal.status_mut() = refused.0;
    let about = refusal.headers_mut();
    about.insert(header::CONNECTION, HeaderValue::from_static("close"));
    about.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    about.insert(header::CONTENT_LENGTH, refused.1.len().into());
    Err(refusal)
}

async fn let_in(
    (shared, servent): (&Arc<SharedEndpoint>, &Handle),
    (tcp, peer): (TcpStream, SocketAddr),
    limits: DoorLimits,
) -> io::Result<()> {
    tune(&tcp)?;
    let opened = accept_hdr_async_with_config(tcp, admit, Some(messages()));
    let opened = timeout(limits.opening, opened);
    let socket = opened.await?.map_err(io::Error::other)?;
    let at = door_address(peer);
    let Some(detour) = Detour::open(shared, at) else {
        return Err(io::ErrorKind::AddrInUse.into());
    };
    let _lost = LostVisitor { at, servent: servent.clone() };
    let DoorLimits { unseated, silence, deaf, .. } = limits;
    pump(socket, detour, VisitorPatience { unseated, silence, deaf }).await
}

/// The seat and the meeting of a visitor end with its connection, however that ends: the
/// other side need not wait.
struct LostVisitor {
    at: SocketAddr,
    servent: Handle,
}

impl Drop for LostVisitor {
    fn drop(&mut self) {
        let (at, servent) = (self.at, self.servent.clone());
        tokio::spawn(async move {
            let lost = NodeCommand::Meet(MeetCommand::Lost { at });
            let _ = servent.command(lost).await; // It may have ended.
        });
    }
}

/// Who is inside.
#[derive(Debug)]
struct DoorCount {
    limits: DoorLimits,
    inside: Mutex<DoorVisitors>,
}

/// The visitors inside, by number; the oldest of each owner of addresses first.
#[derive(Debug, Default)]
struct DoorVisitors {
    owners: OwnerHoldings<u64, ()>,
    /// What tells each to leave.
    leave: BTreeMap<u64, Arc<Notify>>,
    /// How many have come.
    came: u64,
}

impl DoorVisitors {
    fn remove(&mut self, owner: IpAddr, number: u64) -> Option<Arc<Notify>> {
        self.owners.remove(owner, number);
        self.leave.remove(&number)
    }
}

/// One visitor that is counted.
#[derive(Debug)]
struct DoorSeat {
    count: Arc<DoorCount>,
    owner: IpAddr,
    number: u64,
    /// It is to leave.
    leave: Arc<Notify>,
}

impl DoorCount {
    fn new(limits: DoorLimits) -> Self {
        Self { limits, inside: Mutex::default() }
    }

    fn inside(&self) -> MutexGuard<'_, DoorVisitors> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DoorSeat {
    fn take(count: &Arc<DoorCount>, peer: SocketAddr) -> Option<Self> {
        let owner = owner(peer.ip());
        let mut inside = count.inside();
        if inside.owners.count(owner) as usize >= count.limits.per_ip {
            return None;
        }
        if inside.leave.len() >= count.limits.visitors {
            let crowd = inside.owners.crowd(owner)?;
            let (oldest, ()) = inside.owners.iter(crowd).next()?;
            inside.remove(crowd, oldest)?.notify_one();
        }
        let (number, leave) = (inside.came, Arc::default());
        inside.came += 1;
        inside.owners.add(owner, number, ());
        inside.leave.insert(number, Arc::clone(&leave));
        drop(inside);
        Some(Self { count: Arc::clone(count), owner, number, leave })
    }
}

impl Drop for DoorSeat {
    fn drop(&mut self) {
        self.count.inside().remove(self.owner, self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use futures::FutureExt as _;

    use super::*;

    fn door(visitors: usize, per_ip: usize) -> Arc<DoorCount> {
        Arc::new(DoorCount::new(DoorLimits { visitors, per_ip, ..DoorLimits::default() }))
    }

    #[test]
    fn one_address_cannot_keep_the_others_out() {
        let inside = door(3, 2);
        let take = |text: &str| DoorSeat::take(&inside, text.parse().unwrap());
        let (one, two) = (take("192.0.2.1:1").unwrap(), take("192.0.2.1:2").unwrap());
        assert!(take("192.0.2.1:3").is_none(), "it has its share");
        let other = take("192.0.2.2:1").unwrap();
        let third = take("192.0.2.3:1").expect("the crowd gives way");
        assert!(one.leave.notified().now_or_never().is_some(), "its oldest leaves");
        assert!(two.leave.notified().now_or_never().is_none());
        assert!(take("192.0.2.4:1").is_none(), "none has more than it would have");
        drop((one, two, other, third));
        assert!(inside.inside().owners.is_empty(), "nothing is kept of them");
        assert!(inside.inside().leave.is_empty());
    }

    #[test]
    fn many_addresses_with_all_they_may_have_do_not_lock_the_door() {
        let inside = door(512, 16);
        let crowd: Vec<_> = (0..512_u16)
            .map(|n| SocketAddr::from(([198, 51, 100, (n % 32) as u8], 1_000 + n)))
            .filter_map(|at| DoorSeat::take(&inside, at))
            .collect();
        assert_eq!(crowd.len(), 512);
        let honest = (0..20).map(|n| SocketAddr::from(([203, 0, 113, n], 1_000)));
        let honest: Vec<_> = honest.filter_map(|at| DoorSeat::take(&inside, at)).collect();
        assert_eq!(honest.len(), 20);
    }

    #[test]
    fn one_customer_with_many_networks_does_not_lock_the_door() {
        let inside = door(512, 16);
        let at = |customer, network| {
            let ip = Ipv6Addr::new(0x2001, 0xdb8, customer, network, 0, 0, 0, 1);
            DoorSeat::take(&inside, SocketAddr::from((ip, 1_000)))
        };
        let crowd: Vec<_> = (0..512).filter_map(|network| at(1, network)).collect();
        assert_eq!(crowd.len(), 512);
        let honest: Vec<_> = (0..20).filter_map(|customer| at(2 + customer, 0)).collect();
        assert_eq!(honest.len(), 20);
    }
}
