//! Moves the bytes of one stream.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::UnboundedReceiver;

use super::super::message::CHUNK;
use super::part::{HEAD, StreamPart, head_of_bytes};
use super::{CarriedStreams, StreamEnds};

/// The most bytes of a stream in one message.
const MOST: usize = CHUNK - HEAD;

/// The stream was broken off, here or there.
struct BrokenOff;

/// Moves the bytes of a stream both ways until both have ended, or one is broken off.
pub(super) async fn carry(carried: Arc<CarriedStreams>, ends: StreamEnds) {
    let StreamEnds { stream, tcp, mut inward, waiting, room } = ends;
    let (from, to) = tcp.into_split();
    let both = async {
        tokio::try_join!(
            outward(&carried, stream, from, &room),
            taken((&carried, stream), to, (&mut inward, &waiting)),
        )
    };
    let mut ended = carried.ended.subscribe();
    let moved = tokio::select! {
        moved = both => moved.is_ok(),
        _ = ended.wait_for(|ended| *ended) => return, // The table is empty, too.
    };
    let known = carried.streams().remove(&stream).is_some();
    if known && !moved {
        let _ = carried.say(stream, StreamPart::Cut).await; // All of it may have ended.
    }
}

/// From our connection to the other side.
async fn outward(
    carried: &CarriedStreams,
    stream: u32,
    mut from: OwnedReadHalf,
    room: &Semaphore,
) -> Result<(), BrokenOff> {
    loop {
        let permit = room.acquire_many(MOST as u32).await.map_err(|_| BrokenOff)?;
        permit.forget();
        let mut message = vec![0; HEAD + MOST];
        message[..HEAD].copy_from_slice(&head_of_bytes(stream));
        let read = from.read(&mut message[HEAD..]).await.map_err(|_| BrokenOff)?;
        room.add_permits(MOST - read);
        if read == 0 {
            return carried.say(stream, StreamPart::End).await.map_err(|_| BrokenOff);
        }
        message.truncate(HEAD + read);
        carried.talk.put_bytes(message.into()).await.map_err(|_| BrokenOff)?;
    }
}

/// From the other side to our connection.
async fn taken(
    (carried, stream): (&CarriedStreams, u32),
    mut to: OwnedWriteHalf,
    (inward, waiting): (&mut UnboundedReceiver<StreamPart>, &AtomicUsize),
) -> Result<(), BrokenOff> {
    while let Some(part) = inward.recv().await {
        match part {
            StreamPart::Bytes(bytes) => {
                to.write_all(&bytes).await.map_err(|_| BrokenOff)?;
                waiting.fetch_sub(bytes.len(), Ordering::AcqRel);
                let room = StreamPart::Room(bytes.len() as u32);
                carried.say(stream, room).await.map_err(|_| BrokenOff)?;
            }
            StreamPart::End => return to.shutdown().await.map_err(|_| BrokenOff),
            StreamPart::Open | StreamPart::Cut | StreamPart::Room(_) => {}
        }
    }
    Err(BrokenOff)
}
