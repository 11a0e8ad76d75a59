//! The public interface: endpoints and connections.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use servent_core::meet::is_meeting_peer;
use servent_core::node::{self, UnicastMessage};
use servent_core::unicast::{DeliveryOrder, UnicastPayload};
use tokio::task::AbortHandle;

use super::error::{BindError, ConnectError, SendError};
use super::options::EndpointOptions;
use super::silence::PeerSilence;
use super::whereabouts::PeerWhereabouts;
use crate::driver::datagrams::{
    Closing, EndpointCounters, Lost, Pipe, SharedEndpoint, Undelivered,
};
use crate::driver::{self, Datagrams, Driver, Handle};
use crate::error::RunError;
use crate::net::udp::canonical;
use crate::tape::TraceFile;

/// A UDP socket that speaks reliable unicast with many peers: a servent that
/// does nothing else, or a part of one that does.
///
/// Dropping an endpoint ends a servent that does nothing else at once, without
/// telling its peers; see [`Endpoint::shutdown`].
pub struct Endpoint {
    pub(super) shared: Arc<SharedEndpoint>,
    servent: Handle,
    /// The servent runs only for this endpoint.
    alone: bool,
    /// Where a router lets others in to us.
    pub(super) outside: Mutex<Option<SocketAddr>>,
    /// What helps the visit of now.
    pub(super) visiting: Mutex<Option<AbortHandle>>,
}

impl Endpoint {
    /// Binds an address and starts; port 0 takes any free one. `[::]` accepts
    /// IPv4 too. Must be called inside a tokio runtime with time and I/O.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub async fn bind(at: SocketAddr, options: EndpointOptions) -> Result<Self, BindError> {
        let EndpointOptions {
            only,
            config,
            loss,
            seed,
            backlog,
            trace,
            tape,
            meet,
            close_deadline,
        } = options;
        let datagrams = Datagrams { listen: at, only, config, loss, seed, backlog, close_deadline };
        let options = driver::ServentOptions {
            name: String::from("unicast"),
            datagrams: Some(datagrams),
            trace: trace.map(|file| TraceFile { waits: true, ..file }),
            tape,
            node: node::Config { http: false, download: false, meet, ..node::Config::default() },
            ..driver::ServentOptions::without_folders()
        };
        let servent =
            Driver::start(options).await.map_err(|why| BindError::from_start_error(why, at))?;
        let endpoint = Self::from_handle(&servent).map(|endpoint| Self { alone: true, ..endpoint });
        endpoint.ok_or_else(|| BindError::Socket { at, why: std::io::ErrorKind::Other.into() })
    }

    /// The datagrams of a servent that was started with
    /// [`driver::ServentOptions::datagrams`]. All endpoints made of it are the same.
    #[must_use]
    pub fn from_handle(servent: &Handle) -> Option<Self> {
        let shared = servent.shared.datagrams.clone()?;
        Some(Self {
            shared,
            servent: servent.clone(),
            alone: false,
            visiting: Mutex::default(),
            outside: Mutex::default(),
        })
    }

    /// The bound address.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.shared.local
    }

    /// Opens a connection with a peer: its address, or its name in a meeting. Nothing is sent
    /// before the first message: whether the peer exists shows in whether it acknowledges.
    ///
    /// # Errors
    /// There already is a connection, the address family does not match, or the
    /// endpoint has ended.
    pub fn connect(&self, peer: SocketAddr) -> Result<Connection, ConnectError> {
        let (peer, local) = (canonical(peer), self.shared.local);
        let dual = local.ip().is_unspecified() && local.is_ipv6();
        let named = is_meeting_peer(peer.ip()); // It may be anywhere.
        if peer.is_ipv4() != local.is_ipv4() && !dual && !named {
            return Err(ConnectError::Family(peer));
        }
        let mut book = self.shared.book();
        if book.over || book.stopping {
            return Err(ConnectError::Ended);
        }
        if book.pipes.contains_key(&peer) {
            return Err(ConnectError::Exists(peer));
        }
        let pipe = Arc::new(Pipe::new(peer, &self.shared));
        book.pipes.insert(peer, Arc::clone(&pipe));
        Ok(Connection { pipe, shared: Arc::clone(&self.shared) })
    }

    /// The connection with a peer that was met: both sides of a meeting may open it, and then it
    /// is there before we ask for it.
    ///
    /// # Errors
    /// Those of [`Self::connect`]; that there is one already if it was given away.
    pub fn connect_met(&self, peer: SocketAddr) -> Result<Connection, ConnectError> {
        let exists = match self.connect(peer) {
            Err(exists @ ConnectError::Exists(_)) => exists,
            opened => return opened,
        };
        let (peer, mut book) = (canonical(peer), self.shared.book());
        let at = book.waiting.iter().position(|pipe| pipe.peer == peer);
        let pipe = at.and_then(|at| book.waiting.remove(at)).ok_or(exists)?;
        Ok(Connection { pipe, shared: Arc::clone(&self.shared) })
    }

    /// Waits for the next new peer; `None` when the endpoint has ended. The
    /// connection carries messages both ways.
    pub async fn accept(&self) -> Option<Connection> {
        loop {
            let came = self.shared.came.notified();
            {
                let mut book = self.shared.book();
                if let Some(pipe) = book.waiting.pop_front() {
                    return Some(Connection { pipe, shared: Arc::clone(&self.shared) });
                }
                if book.over {
                    return None;
                }
            }
            came.await;
        }
    }

    /// The servent it belongs to, for its recording and its view.
    #[must_use]
    pub const fn servent(&self) -> &Handle {
        &self.servent
    }

    /// Its counters so far.
    #[must_use]
    pub fn counters(&self) -> EndpointCounters {
        *self.shared.counters()
    }

    /// Closes every connection, waits until all is acknowledged or
    /// [`EndpointOptions::close_deadline`] has passed, and ends. What a connection
    /// could not deliver is reported by its own [`Connection::close`]; call
    /// that first to learn it. A servent that has other tasks goes on.
    ///
    /// # Errors
    /// It had ended with an error, or its trace is incomplete.
    pub async fn shutdown(self) -> Result<(), Arc<RunError>> {
        self.leave().await;
        if self.alone { self.servent.stop().await } else { Ok(()) }
    }

    /// The same for a user who waits: peers that do not answer by then are left as
    /// they are.
    ///
    /// # Errors
    /// As for [`Endpoint::shutdown`].
    pub async fn shutdown_within(self, limit: Duration) -> Result<(), Arc<RunError>> {
        let _ = tokio::time::timeout(limit, self.leave()).await; // They are told, or gone.
        if self.alone { self.servent.stop_at_once().await } else { Ok(()) }
    }

    /// Ends its connections, after all that it was told before.
    async fn leave(&self) {
        self.servent.caught_up().await;
        self.shared.leave().await;
    }
}

/// Messages to and from one peer: delivered in order and exactly once, or
/// reported as undelivered.
///
/// After a connection is dropped, messages already accepted are still sent in
/// the background, and messages from the peer are discarded.
pub struct Connection {
    pipe: Arc<Pipe>,
    shared: Arc<SharedEndpoint>,
}

/// Byte counts of sent messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SendProgress {
    /// Accepted by [`Connection::send`].
    pub accepted: u64,
    /// Acknowledged by the peer, as far as known.
    pub acknowledged: u64,
}

impl Connection {
    /// The address at which the peer is now; through a meeting place that relays, that of
    /// the place (PA-13).
    #[must_use]
    pub fn peer(&self) -> SocketAddr {
        self.whereabouts().now()
    }

    /// Where the peer is, from now on.
    #[must_use]
    pub fn whereabouts(&self) -> PeerWhereabouts {
        PeerWhereabouts { shared: Arc::clone(&self.shared), name: self.pipe.peer }
    }

    /// The name of the peer on this endpoint: the address at which it was first known, or
    /// of the other side of a meeting, a name for that meeting alone. It stays the same
    /// when the peer moves (PA-9).
    #[must_use]
    pub fn name(&self) -> SocketAddr {
        self.pipe.peer
    }

    /// Sends a message after all earlier ones. Waits while the send window is
    /// full; when it returns, the message is kept until it is acknowledged. If
    /// the future is dropped before that, the message is not sent.
    ///
    /// # Errors
    /// It is too long, or the connection has ended.
    pub async fn send(&self, message: impl Into<UnicastPayload>) -> Result<(), SendError> {
        self.push(message.into(), DeliveryOrder::InOrder).await
    }

    /// Sends a message that is delivered as soon as it has arrived completely,
    /// regardless of earlier ones. Waits as [`Connection::send`] does.
    ///
    /// # Errors
    /// It is too long, or the connection has ended.
    pub async fn send_at_once(&self, message: impl Into<UnicastPayload>) -> Result<(), SendError> {
        self.push(message.into(), DeliveryOrder::AtOnce).await
    }

    async fn push(&self, data: UnicastPayload, order: DeliveryOrder) -> Result<(), SendError> {
        let most = self.shared.max_message;
        if data.len() > most {
            return Err(SendError::TooLong { length: data.len(), most });
        }
        let mut message = UnicastMessage { order, data };
        match self.pipe.put(message, &self.shared)? {
            None => return Ok(()),
            Some(back) => message = back,
        }
        loop {
            let writable = self.pipe.writable.notified();
            match self.pipe.put(message, &self.shared)? {
                None => return Ok(()),
                Some(back) => message = back,
            }
            writable.await;
        }
    }

    /// The next message; `None` when the peer has closed its half and
    /// everything before that was delivered. Dropping the future loses nothing.
    ///
    /// # Errors
    /// Why no more messages will come.
    pub async fn recv(&self) -> Result<Option<UnicastPayload>, Lost> {
        if let Some(next) = self.pipe.take(&self.shared) {
            return next;
        }
        loop {
            let readable = self.pipe.readable.notified();
            if let Some(next) = self.pipe.take(&self.shared) {
                return next;
            }
            readable.await;
        }
    }

    /// How long the peer has been silent, from now on.
    #[must_use]
    pub fn silence(&self) -> PeerSilence {
        PeerSilence(Arc::clone(&self.pipe))
    }

    /// How much of what was sent is acknowledged.
    #[must_use]
    pub fn progress(&self) -> SendProgress {
        let state = self.pipe.lock();
        SendProgress { accepted: state.accepted, acknowledged: state.acknowledged }
    }

    /// Waits until everything sent so far is acknowledged, and ends our half;
    /// the peer's stays open. Waits at most [`EndpointOptions::close_deadline`].
    ///
    /// # Errors
    /// The messages that were not acknowledged.
    pub async fn close(&self) -> Result<(), Undelivered> {
        self.set_closing(Closing::Asked);
        if tokio::time::timeout(self.shared.close_deadline, self.closed()).await.is_err() {
            self.set_closing(Closing::GivenUp);
            self.closed().await;
        }
        self.pipe.lock().undelivered()
    }

    /// Ends our half at once: the peer is known to be gone, and what it has not acknowledged
    /// is repeated no more.
    pub fn give_up(&self) {
        self.set_closing(Closing::GivenUp);
    }

    /// Ends our half at once, and tells the peer that what it has not received does not come.
    pub fn abandon(&self) {
        self.set_closing(Closing::Abandoned);
    }

    fn set_closing(&self, wanted: Closing) {
        let mut state = self.pipe.lock();
        if state.closing != Closing::Done {
            state.closing = wanted;
        }
        state.outgoing.get_or_insert(Lost::Closed);
        drop(state);
        self.pipe.writable.notify_waiters();
        self.shared.wake(&self.pipe);
    }

    async fn closed(&self) {
        loop {
            let ended = self.pipe.ended.notified();
            let done = self.pipe.lock().closing == Closing::Done;
            if done || self.shared.book().over {
                return;
            }
            ended.await;
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.pipe.lock().left = true;
        self.shared.wake(&self.pipe);
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[tokio::test]
    async fn a_connection_that_the_one_met_has_opened_is_the_one_with_it() {
        let bind = || Endpoint::bind((Ipv4Addr::LOCALHOST, 0).into(), EndpointOptions::default());
        let (here, there) = (bind().await.unwrap(), bind().await.unwrap());
        let theirs = there.connect(here.local_addr()).unwrap();
        theirs.send(b"words".to_vec()).await.unwrap();
        while here.shared.book().waiting.is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let peer = there.local_addr();
        assert!(matches!(here.connect(peer), Err(ConnectError::Exists(_))));
        let ours = here.connect_met(peer).unwrap();
        assert_eq!(ours.recv().await.unwrap().unwrap(), b"words".as_slice());
        assert!(
            matches!(here.connect_met(peer), Err(ConnectError::Exists(_))),
            "it was given away"
        );
    }
}
