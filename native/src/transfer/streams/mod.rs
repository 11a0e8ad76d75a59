//! TCP connections through one connection of reliable unicast, encrypted with a code:
//! what two who met through a place ([`crate::unicast`]) need to speak any protocol with
//! each other. The caller opens streams; each becomes a TCP connection on the other
//! side.
//!
//! A stream has room for [`WINDOW`] bytes in each direction, and more when they were
//! taken: one that is not read does not hold up the others.

mod carry;
mod part;

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use thiserror::Error;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

use self::carry::carry;
pub(super) use self::part::{STREAM, StreamPart};
use super::greet::admit;
use super::message::TransferMessage;
use super::receive_error::ReceiveError;
use super::refusal::fail;
use super::secret::{Meeting, SecretDoor, TransferCode};
use super::talk::{Silence, Talk};
use crate::unicast::{Connection, Lost, PeerSilence, PeerWhereabouts};

/// Streams that a caller may have open at once.
const STREAMS: usize = 32;
/// Bytes of a stream that may be on their way, or wait to be taken.
const WINDOW: usize = 2 << 20;
/// How long the other side may be silent; it says every few seconds that it is there.
const SILENCE: Duration = Duration::from_secs(30);
/// How long the end may take to be known on both sides.
const GOODBYE: Duration = Duration::from_secs(2);

/// Why there are no streams, or no more.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The connection was lost.
    #[error("the other side is gone: {0}")]
    Gone(Lost),
    /// The codes differ.
    #[error("the code is wrong")]
    WrongCode,
    /// The other side admits no callers now.
    #[error("it refuses: {0}")]
    Refused(String),
    /// The other side does not speak this version of the protocol.
    #[error("it sends something that is no stream of this version")]
    Foreign,
}

impl From<Silence> for StreamError {
    fn from(silence: Silence) -> Self {
        match silence {
            Silence::Gone(why) => Self::Gone(why),
            Silence::Foreign => Self::Foreign,
            Silence::WrongCode => Self::WrongCode,
        }
    }
}

/// The streams of one connection.
pub struct CarriedStreams {
    talk: Talk,
    streams: Mutex<BTreeMap<u32, OpenStream>>,
    next: AtomicU32,
    ended: watch::Sender<bool>,
}

/// One of them, as the connection sees it.
struct OpenStream {
    /// What comes from the other side; [`WINDOW`] bounds it.
    inward: UnboundedSender<StreamPart>,
    /// Bytes that came and were not taken yet.
    waiting: Arc<AtomicUsize>,
    /// Bytes that the other side has room for.
    room: Arc<Semaphore>,
}

/// The same as the task sees it that moves its bytes.
struct StreamEnds {
    stream: u32,
    tcp: TcpStream,
    inward: UnboundedReceiver<StreamPart>,
    waiting: Arc<AtomicUsize>,
    room: Arc<Semaphore>,
}

impl CarriedStreams {
    fn over(talk: Talk) -> Arc<Self> {
        let (streams, next) = (Mutex::default(), AtomicU32::new(0));
        Arc::new(Self { talk, streams, next, ended: watch::Sender::new(false) })
    }

    /// Proves to the other side that we know the code. The streams live while
    /// [`CarriedStreams::run`] does.
    ///
    /// # Errors
    /// It does not answer, or does not admit us.
    pub async fn call(
        connection: Connection,
        code: &TransferCode,
    ) -> Result<Arc<Self>, StreamError> {
        let talk = Talk::over(connection);
        let (ours, meeting) = Meeting::new(code, true);
        talk.put(&TransferMessage::Visit { meeting }).await?;
        let met = async {
            match talk.next().await? {
                TransferMessage::Meeting { told } => {
                    talk.seal(ours.finish(&told).ok_or(StreamError::Foreign)?).await;
                }
                TransferMessage::Failed { why } => return Err(StreamError::Refused(why)),
                _ => return Err(StreamError::Foreign),
            }
            // The first encrypted message shows that we know the code.
            talk.put(&TransferMessage::Alive).await?;
            match talk.next().await? {
                TransferMessage::Go => Ok(()),
                _ => Err(StreamError::Foreign),
            }
        };
        timeout(SILENCE, met).await.unwrap_or(Err(StreamError::Gone(Lost::Idle)))?;
        Ok(Self::over(talk))
    }

    /// Admits a caller that knows the code. A wrong code counts as a guess of the address
    /// `from`: behind a place that relays it is not that of the connection.
    ///
    /// # Errors
    /// It does not, or says nothing.
    pub async fn answer(
        connection: Connection,
        (door, from): (&SecretDoor, IpAddr),
    ) -> Result<Arc<Self>, StreamError> {
        let talk = Talk::over(connection);
        let met = async {
            let TransferMessage::Visit { meeting } = talk.next().await? else {
                return Err(ReceiveError::Foreign);
            };
            let guess = admit(&talk, (door, from), &meeting, false).await?;
            let TransferMessage::Alive = talk.next().await? else {
                return Err(ReceiveError::Foreign);
            };
            if let Some(guess) = guess {
                door.opened(guess);
            }
            Ok(talk.put(&TransferMessage::Go).await?)
        };
        let met = timeout(SILENCE, met).await.unwrap_or(Err(ReceiveError::Gone(Lost::Idle)));
        match met {
            Ok(()) => Ok(Self::over(talk)),
            Err(why) => {
                if let Some(refusal) = why.refusal(door) {
                    fail(&talk, refusal).await;
                }
                Err(match why {
                    ReceiveError::Gone(why) => StreamError::Gone(why),
                    ReceiveError::WrongCode => StreamError::WrongCode,
                    ReceiveError::Guesses => StreamError::Refused(why.to_string()),
                    _ => StreamError::Foreign,
                })
            }
        }
    }

    /// Moves the bytes of all streams until the connection ends. `accept` gets each
    /// stream that the other side opens; `None`: it may open none.
    pub async fn run(self: &Arc<Self>, accept: Option<&(dyn Fn(TcpStream) + Sync)>) -> StreamError {
        let why = tokio::select! {
            silence = self.talk.stay() => silence.into(),
            why = self.receive(accept) => why,
        };
        self.end();
        if why == StreamError::Gone(Lost::Closed) {
            // The other side has said that it leaves, and waits until we know.
            let _ = timeout(GOODBYE, self.talk.end()).await;
        }
        why
    }

    /// One more stream to the other side.
    ///
    /// # Errors
    /// The connection has ended, or there are too many.
    pub async fn open(self: &Arc<Self>) -> io::Result<TcpStream> {
        let (near, far) = pair().await?;
        let stream = self.next.fetch_add(1, Ordering::Relaxed);
        if *self.ended.borrow() || !self.begin(stream, far) {
            return Err(io::ErrorKind::NotConnected.into());
        }
        self.say(stream, StreamPart::Open).await.map_err(|_| io::ErrorKind::NotConnected)?;
        Ok(near)
    }

    /// True when there will be no more streams.
    #[must_use]
    pub fn is_over(&self) -> bool {
        *self.ended.borrow()
    }

    /// Where its datagrams go, also while the path changes.
    #[must_use]
    pub fn whereabouts(&self) -> PeerWhereabouts {
        self.talk.connection.whereabouts()
    }

    /// For how long it has not been heard.
    #[must_use]
    pub fn silence(&self) -> PeerSilence {
        self.talk.connection.silence()
    }

    /// Tells the other side that it is over, instead of [`CarriedStreams::run`].
    pub async fn leave(&self) {
        self.end();
        let told = async {
            let stopped = TransferMessage::Stopped { why: String::new() };
            let _ = self.talk.put(&stopped).await; // It may be gone already.
            self.talk.end().await;
        };
        let _ = timeout(GOODBYE, told).await;
    }

    fn end(&self) {
        self.ended.send_replace(true);
        self.streams().clear();
    }

    fn streams(&self) -> MutexGuard<'_, BTreeMap<u32, OpenStream>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn say(&self, stream: u32, part: StreamPart) -> Result<(), Silence> {
        self.talk.put(&TransferMessage::Stream { stream, part }).await
    }

    /// Begins to move the bytes of a stream; false when there are too many.
    fn begin(self: &Arc<Self>, stream: u32, tcp: TcpStream) -> bool {
        let (sender, inward) = unbounded_channel();
        let (waiting, room) = (Arc::default(), Arc::new(Semaphore::new(WINDOW)));
        let mut streams = self.streams();
        if streams.len() >= STREAMS || streams.contains_key(&stream) {
            return false;
        }
        let (waits, has) = (Arc::clone(&waiting), Arc::clone(&room));
        streams.insert(stream, OpenStream { inward: sender, waiting: waits, room: has });
        drop(streams);
        let ends = StreamEnds { stream, tcp, inward, waiting, room };
        tokio::spawn(carry(Arc::clone(self), ends));
        true
    }

    async fn receive(self: &Arc<Self>, accept: Option<&(dyn Fn(TcpStream) + Sync)>) -> StreamError {
        loop {
            let said = match timeout(SILENCE, self.talk.next()).await {
                Ok(Ok(said)) => said,
                Ok(Err(silence)) => return silence.into(),
                Err(_) => return StreamError::Gone(Lost::Idle),
            };
            let taken = match said {
                TransferMessage::Alive => Ok(()),
                TransferMessage::Stream { stream, part: StreamPart::Open } => {
                    self.accept(stream, accept).await
                }
                TransferMessage::Stream { stream, part } => self.take(stream, part),
                TransferMessage::Stopped { .. } => return StreamError::Gone(Lost::Closed),
                _ => return StreamError::Foreign,
            };
            if let Err(why) = taken {
                return why;
            }
        }
    }

    async fn accept(
        self: &Arc<Self>,
        stream: u32,
        accept: Option<&(dyn Fn(TcpStream) + Sync)>,
    ) -> Result<(), StreamError> {
        let accept = accept.ok_or(StreamError::Foreign)?;
        if let Ok((near, far)) = pair().await
            && self.begin(stream, far)
        {
            accept(near);
            return Ok(());
        }
        // Too many, or the system has none to give.
        Ok(self.say(stream, StreamPart::Cut).await?)
    }

    /// What the other side says about a stream that is open; one that is not may have
    /// ended on our side meanwhile.
    fn take(&self, stream: u32, part: StreamPart) -> Result<(), StreamError> {
        let mut streams = self.streams();
        let Some(open) = streams.get(&stream) else { return Ok(()) };
        match &part {
            StreamPart::Room(more) => {
                let more = *more as usize;
                if open.room.available_permits() + more > WINDOW {
                    return Err(StreamError::Foreign);
                }
                open.room.add_permits(more);
            }
            StreamPart::Cut => drop(streams.remove(&stream)),
            part => {
                let bytes = if let StreamPart::Bytes(bytes) = part { bytes.len() } else { 0 };
                if open.waiting.fetch_add(bytes, Ordering::AcqRel) + bytes > WINDOW {
                    return Err(StreamError::Foreign);
                }
                let _ = open.inward.send(part.clone()); // Its task may have ended.
            }
        }
        Ok(())
    }
}

/// Two ends of one TCP connection within this machine.
async fn pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let at = listener.local_addr()?;
    let (near, accepted) = tokio::try_join!(TcpStream::connect(at), listener.accept())?;
    let (far, from) = accepted;
    // Another program may have been faster.
    if from != near.local_addr()? {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    Ok((near, far))
}
