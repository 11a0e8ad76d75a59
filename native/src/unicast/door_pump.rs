//! Moving datagrams both ways through a door (PA-13).

use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures::{SinkExt as _, StreamExt as _};
use servent_core::wire::meet::MeetPacket;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Message};

use super::LARGEST;
use crate::driver::datagrams::Detour;
use crate::sys::limit_unsent;

/// How long the other end may take nothing of what waits for it while nothing comes from
/// it either: its line may be dark for a minute.
const DARK: Duration = Duration::from_secs(75);
/// Bytes that a connection may hold which the system has not taken; one message more
/// than that is accepted.
const UNSENT: usize = 16 << 10;
/// That message with them, and what answers a ping.
const MOST_UNSENT: usize = 64 << 10;
/// Bytes that the system may hold and has not sent.
const SYSTEM_UNSENT: u32 = 128 << 10;

/// How the messages of a door are read and written.
pub(super) fn messages() -> WebSocketConfig {
    let most = LARGEST as usize;
    WebSocketConfig::default()
        .max_message_size(Some(most))
        .max_frame_size(Some(most))
        .read_buffer_size(16 << 10)
        .write_buffer_size(UNSENT)
        .max_write_buffer_size(MOST_UNSENT)
}

/// Readies the connection of a door: nothing waits there for more to say, and little
/// waits in the system.
pub(super) fn tune(tcp: &TcpStream) -> io::Result<()> {
    limit_unsent(tcp, SYSTEM_UNSENT)?;
    tcp.set_nodelay(true)
}

/// How long the other end may be silent, or deaf.
#[derive(Debug, Clone, Copy)]
pub(super) struct VisitorPatience {
    /// In all, until it was given a seat.
    pub(super) unseated: Duration,
    /// From then on.
    pub(super) silence: Duration,
    /// How long it may take nothing of what waits for it, while it goes on speaking.
    pub(super) deaf: Duration,
}

/// True for a datagram that only a visitor with a seat is sent.
fn tells_of_seat(datagram: &[u8]) -> bool {
    let packet = MeetPacket::parse(datagram);
    matches!(packet, Ok(MeetPacket::Waiting { .. } | MeetPacket::Introduce(_)))
}

/// Waits until the other end has taken something. `heard` counts what came from it: one
/// that speaks and takes nothing does not want it.
async fn taken(
    taking: impl Future<Output = Result<(), tungstenite::Error>>,
    (heard, deaf): (&AtomicU64, Duration),
) -> io::Result<()> {
    let before = heard.load(Ordering::Relaxed);
    let mut taking = pin!(taking);
    let taken = match timeout(deaf, &mut taking).await {
        Err(_) if heard.load(Ordering::Relaxed) == before => timeout(DARK, taking).await,
        taken => taken,
    };
    taken?.map_err(io::Error::other)
}

/// Moves datagrams both ways until one side ends.
pub(super) async fn pump(
    socket: WebSocketStream<TcpStream>,
    detour: Detour,
    patience: VisitorPatience,
) -> io::Result<()> {
    let (mut sink, mut stream) = socket.split();
    let (entry, mut way_out) = detour.split();
    let (seated, until) = (AtomicBool::new(false), Instant::now() + patience.unseated);
    let heard = AtomicU64::new(0);
    let outward = async {
        while let Some(data) = way_out.next().await {
            if !seated.load(Ordering::Relaxed) {
                seated.store(tells_of_seat(&data), Ordering::Relaxed);
            }
            taken(sink.feed(Message::Binary(data)), (&heard, patience.deaf)).await?;
            while let Some(data) = way_out.next_now() {
                taken(sink.feed(Message::Binary(data)), (&heard, patience.deaf)).await?;
            }
            taken(sink.flush(), (&heard, patience.deaf)).await?;
            entry.emptied();
        }
        taken(sink.close(), (&heard, patience.deaf)).await
    };
    let inward = async {
        loop {
            let latest = match seated.load(Ordering::Relaxed) {
                true => Instant::now() + patience.silence,
                false => until,
            };
            let next = timeout_at(latest, stream.next()).await;
            if next.is_err() && latest == until && seated.load(Ordering::Relaxed) {
                continue; // It was given its seat meanwhile.
            }
            let next = next?;
            heard.fetch_add(1, Ordering::Relaxed);
            match next {
                Some(Ok(Message::Binary(data))) => entry.deliver(&data).await,
                Some(Ok(Message::Close(_))) | None => return Ok(()),
                Some(Ok(_)) => {}
                Some(Err(why)) => return Err(io::Error::other(why)),
            }
        }
    };
    // Both at once: a side that only writes would wait for one that only writes.
    tokio::select! {
        ended = outward => ended,
        ended = inward => ended,
    }
}
