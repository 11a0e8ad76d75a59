//! The task of one connection. It holds no buffer while idle: it waits until
//! the socket is readable and then reads into its worker's buffer.

use std::cell::RefCell;
use std::io;
use std::net::{IpAddr, Shutdown};
use std::sync::Arc;
use std::time::Duration;

use servent_core::id::ConnId;
use servent_core::node::{ConnInput, Input, StoreError};
use socket2::SockRef;
use tokio::sync::OwnedSemaphorePermit;

use super::stream::Stream;
use super::websocket::{FirstBytes, OpeningBytes, Upgrade, Wish, put_out, put_through, uninvited};
use super::{ConnectionJob, Outbox, Pages, Report, Reports};
use crate::inbox::Fresh;

/// Bytes per read while message heads are expected.
const READ: usize = 16 * 1024;
/// The same of a connection that fills that at once, as long as there is more: the node
/// works on it for as long as thousands of small messages take, and meanwhile
/// all other connections wait.
const FLOOD: usize = 1024;
/// A closing connection whose peer accepts nothing for this long is cut.
const FLUSH_STALL: Duration = Duration::from_secs(10);
/// How long to wait for the peer's FIN after ours. Closing with unread bytes
/// would reset the connection and could destroy our last reply.
const LINGER: Duration = Duration::from_secs(1);
/// Bytes to discard meanwhile.
const LINGER_BYTES: usize = 256 * 1024;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; READ]);
}

/// The connection is over.
pub(super) struct ConnectionOver;

pub(super) struct Conn {
    pub(super) id: ConnId,
    pub(super) stream: Stream,
    pub(super) outbox: Arc<Outbox>,
    pub(super) reports: Reports,
    /// Incoming bytes are discarded.
    pub(super) discard: bool,
    /// Bytes were reported and the node has not processed them yet. Until then
    /// nothing is read, so that what follows a head goes where the node says.
    unread: bool,
    /// The most bytes of the next read.
    portion: usize,
    /// The node was last told that bytes are still unsent. It relies on being
    /// told when they have been sent.
    behind: bool,
    /// The connection may still become a WebSocket, for a page of these origins.
    entry: Option<(FirstBytes, Arc<Pages>)>,
    /// It has become one between pages, and the node's part in it is over.
    leaves: Option<(Upgrade, Arc<Pages>)>,
    /// A file for the inbox that has no name yet.
    pub(super) arriving: Option<Box<Fresh>>,
}

/// Moves bytes until the connection ends, then reports that. `permit` is the
/// connection's share of the descriptor limit. With `pages` it may become a
/// WebSocket.
pub(crate) async fn run(
    id: ConnId,
    (stream, pages): (Stream, Option<Arc<Pages>>),
    outbox: Arc<Outbox>,
    reports: Reports,
    permit: OwnedSemaphorePermit,
) {
    if let Err(why) = stream.tcp().set_nodelay(true) {
        tracing::debug!(?id, %why, "no TCP_NODELAY");
    }
    let known = pages.clone();
    let entry = pages.map(|pages| (FirstBytes::default(), pages));
    let (discard, unread, behind) = (false, false, false);
    let (arriving, leaves, portion) = (None, None, READ);
    let mut conn = Conn {
        id,
        stream,
        outbox,
        reports,
        discard,
        unread,
        portion,
        behind,
        entry,
        leaves,
        arriving,
    };
    let ConnectionOver = conn.work().await;
    if conn.stream.is_refused() {
        let ConnectionOver = Box::pin(conn.goodbye()).await;
    }
    conn.outbox.cut();
    if let Some(pages) = known {
        pages.leave(id);
    }
    let Conn { stream, reports, leaves, .. } = conn;
    if let Some((upgrade, pages)) = leaves {
        let _ = reports.send(Report::Input(Input::Connection(id, ConnInput::Closed))).await;
        let relay = Arc::clone(&pages.relay);
        return Box::pin(put_through((stream, permit), upgrade, relay)).await;
    }
    drop(stream);
    drop(permit);
    let _ = reports.send(Report::Input(Input::Connection(id, ConnInput::Closed))).await;
}

impl Conn {
    async fn work(&mut self) -> ConnectionOver {
        loop {
            let done = match self.outbox.pop() {
                _ if self.outbox.is_cut() => Err(self.reset()),
                Some(ConnectionJob::Write(data)) => self.write(data).await,
                Some(ConnectionJob::Serve { file, start, end, pace }) => {
                    Box::pin(self.serve(file, start, end, pace)).await
                }
                Some(ConnectionJob::Store { part, start, body, early, pace }) => {
                    Box::pin(self.store((part, pace), (start, body), early)).await
                }
                Some(ConnectionJob::Arrive { inbox, body, early }) => {
                    Box::pin(self.arrive(inbox, body, early)).await
                }
                Some(ConnectionJob::Commit { name }) => Box::pin(self.commit(name)).await,
                Some(ConnectionJob::Refuse(why)) => self.disk_failed(why).await,
                Some(ConnectionJob::Close) => Err(Box::pin(self.goodbye()).await),
                None => self.idle().await,
            };
            if let Err(end) = done {
                return end;
            }
        }
    }

    /// Waits for a job or for bytes.
    async fn idle(&mut self) -> Result<(), ConnectionOver> {
        if self.unread {
            // The notification may have come while something else waited for
            // one.
            if self.outbox.take_taken() {
                self.unread = false;
            } else {
                self.outbox.changed().await;
            }
            return Ok(());
        }
        tokio::select! {
            biased;
            () = self.outbox.changed() => Ok(()),
            ready = self.stream.readable() => match ready {
                Ok(()) => self.read().await,
                Err(_) => Err(ConnectionOver),
            },
        }
    }

    async fn read(&mut self) -> Result<(), ConnectionOver> {
        let read = BUFFER.with_borrow_mut(|buffer| {
            let n = self.stream.try_read(&mut buffer[..self.portion])?;
            self.portion = if n == self.portion { FLOOD } else { READ };
            Ok::<_, io::Error>(buffer[..n].to_vec())
        });
        if self.stream.is_refused() && !self.discard {
            return Err(ConnectionOver); // What follows a frame that was wrong is no message.
        }
        match read {
            Ok(data) if data.is_empty() => Err(ConnectionOver),
            Ok(_) if self.discard => Ok(()),
            Ok(data) => match self.entry.take() {
                None => self.deliver(data).await,
                Some((entry, pages)) => self.enter(entry.read(data, &pages.origins), pages).await,
            },
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(_) => Err(ConnectionOver),
        }
    }

    pub(super) async fn deliver(&mut self, data: Vec<u8>) -> Result<(), ConnectionOver> {
        self.unread = true;
        self.report(Input::Connection(self.id, ConnInput::Bytes { data })).await
    }

    /// Does what the first bytes of the connection ask for. As long as they are
    /// not whole, the node's deadline for a first head is running.
    async fn enter(&mut self, said: OpeningBytes, pages: Arc<Pages>) -> Result<(), ConnectionOver> {
        match said {
            OpeningBytes::More(entry) => {
                self.entry = Some((entry, pages));
                Ok(())
            }
            OpeningBytes::Other(data) => self.deliver(data).await,
            OpeningBytes::Upgrade(_) if !pages.admits(self.peer()?) => {
                self.write(put_out()).await?;
                Err(Box::pin(self.goodbye()).await)
            }
            OpeningBytes::Upgrade(Upgrade { ref code, .. })
                if !pages.knows(self.peer()?, code.as_deref()) =>
            {
                self.write(uninvited()).await?;
                Err(Box::pin(self.goodbye()).await)
            }
            OpeningBytes::Upgrade(Upgrade { wish: Wish::Servent, reply, frames, .. }) => {
                pages.enter(self.id, self.peer()?, &self.outbox);
                self.write(reply).await?;
                self.stream.upgrade(frames);
                Ok(())
            }
            OpeningBytes::Upgrade(upgrade) => {
                self.leaves = Some((upgrade, pages));
                Err(ConnectionOver)
            }
            OpeningBytes::Refused(reply) => {
                self.write(reply).await?;
                Err(Box::pin(self.goodbye()).await)
            }
        }
    }

    /// Who is at the other end.
    fn peer(&self) -> Result<IpAddr, ConnectionOver> {
        self.stream.tcp().peer_addr().map(|peer| peer.ip()).map_err(|_| ConnectionOver)
    }

    async fn write(&mut self, data: Vec<u8>) -> Result<(), ConnectionOver> {
        if let Some(request) = self.stream.tunnel(&data)
            && !Box::pin(self.open_tunnel(request)).await?
        {
            return Ok(());
        }
        let data = self.stream.translate(data).map_err(|_| ConnectionOver)?;
        match self.stream.try_write(&data) {
            Ok(n) if n == data.len() && self.behind => self.report_behind().await,
            Ok(n) if n == data.len() => Ok(()),
            Ok(n) => Box::pin(self.write_slowly(&data[n..])).await,
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => {
                Box::pin(self.write_slowly(&data)).await
            }
            Err(_) => Err(ConnectionOver),
        }
    }

    async fn write_slowly(&mut self, mut rest: &[u8]) -> Result<(), ConnectionOver> {
        let bytes = (rest.len() + self.outbox.bytes()) as u64;
        self.report(Input::Connection(self.id, ConnInput::Backlog { bytes })).await?;
        while !rest.is_empty() {
            self.writable().await?;
            match self.stream.try_write(rest) {
                Ok(n) => rest = &rest[n..],
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return Err(ConnectionOver),
            }
        }
        self.report_behind().await
    }

    /// Reports how many of the requested bytes are still unsent.
    async fn report_behind(&mut self) -> Result<(), ConnectionOver> {
        let bytes = self.outbox.bytes() as u64;
        self.behind = bytes > 0;
        self.report(Input::Connection(self.id, ConnInput::Backlog { bytes })).await
    }

    /// Waits until the socket accepts more. Fails when the connection is cut,
    /// or when it is closing and the peer accepts nothing for too long.
    pub(super) async fn writable(&self) -> Result<(), ConnectionOver> {
        loop {
            if self.outbox.is_cut() {
                return Err(self.reset());
            }
            let closing = self.outbox.is_closing();
            tokio::select! {
                ready = self.stream.writable() => return ready.map_err(|_| ConnectionOver),
                () = self.outbox.changed() => {}
                () = tokio::time::sleep(FLUSH_STALL), if closing => return Err(self.reset()),
            }
        }
    }

    /// Waits until everything written has been sent.
    pub(super) async fn flush(&self) -> Result<(), ConnectionOver> {
        while !self.stream.flush().map_err(|_| ConnectionOver)? {
            self.writable().await?;
        }
        Ok(())
    }

    /// Passes an input to the node's task; waits while that is busy.
    pub(super) async fn report(&self, input: Input) -> Result<(), ConnectionOver> {
        self.reports.send(Report::Input(input)).await.map_err(|_| ConnectionOver)
    }

    pub(super) async fn disk_failed(&mut self, why: StoreError) -> Result<(), ConnectionOver> {
        self.discard = true;
        self.report(Input::Connection(self.id, ConnInput::DiskFailed { why })).await
    }

    /// Makes the close abrupt (RST), which frees what the system still holds
    /// for a peer that does not read it.
    fn reset(&self) -> ConnectionOver {
        let _ = self.stream.tcp().set_zero_linger();
        ConnectionOver
    }

    /// Ends our half (FIN) and waits briefly for the peer's.
    async fn goodbye(&mut self) -> ConnectionOver {
        self.stream.farewell();
        if self.flush().await.is_err() {
            return ConnectionOver;
        }
        let shut = SockRef::from(self.stream.tcp()).shutdown(Shutdown::Write);
        if shut.is_ok() {
            let _ = tokio::time::timeout(LINGER, self.drain()).await;
        }
        ConnectionOver
    }

    async fn drain(&self) {
        let mut dropped = 0;
        while dropped < LINGER_BYTES && !self.outbox.is_cut() {
            tokio::select! {
                ready = self.stream.readable() => if ready.is_err() { return },
                () = self.outbox.changed() => continue,
            }
            match BUFFER.with_borrow_mut(|buffer| self.stream.try_read(buffer)) {
                Ok(0) => return,
                Ok(n) => dropped += n,
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the task of a connection keeps, made by `run`.
    fn kept<T, A, B>(_: impl Fn(ConnId, A, B, Reports, OwnedSemaphorePermit) -> T) -> usize {
        size_of::<T>()
    }

    #[test]
    fn a_connection_that_waits_costs_little() {
        // Thousands wait in the queue: what few of them need is kept apart.
        assert!(kept(run) <= 2_560, "{}", kept(run));
    }
}
