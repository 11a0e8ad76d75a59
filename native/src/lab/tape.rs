//! `GET /api/tape`: every line of a servent's recording from its start, then each
//! new one as it is written, as server-sent events.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures::{Stream, StreamExt as _, stream};
use serde::Deserialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_stream::wrappers::BroadcastStream;
use tokio_stream::wrappers::errors::BroadcastStreamRecvError;

use super::Hub;

/// Seconds after which a refused reader may try again.
const AGAIN: u32 = 5;

/// The readers of all recordings: each holds a copy of one in memory, so their
/// number is limited.
#[derive(Debug)]
pub(crate) struct Readers {
    room: Arc<Semaphore>,
    most: u32,
    refused: AtomicU64,
}

impl Readers {
    /// At most this many (`lab_readers`).
    pub(crate) fn new(most: u32) -> Self {
        Self { room: Arc::new(Semaphore::new(most as usize)), most, refused: AtomicU64::new(0) }
    }

    /// A place, held until dropped.
    fn enter(&self) -> Option<OwnedSemaphorePermit> {
        let place = Arc::clone(&self.room).try_acquire_owned().ok();
        if place.is_none() {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        place
    }

    /// The current number of readers.
    pub(super) fn now(&self) -> u32 {
        let free = u32::try_from(self.room.available_permits()).unwrap_or(u32::MAX);
        self.most.saturating_sub(free)
    }

    /// The number of readers that were refused.
    pub(super) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Which {
    servent: Option<String>,
}

pub(super) async fn tape(State(hub): State<Arc<Hub>>, Query(which): Query<Which>) -> Response {
    let Some(live) = hub.servent(which.servent.as_deref()) else {
        return (StatusCode::NOT_FOUND, "no such servent\n").into_response();
    };
    let Some(place) = hub.readers.enter() else {
        let text = "as many readers follow the recording as `lab_readers` allows\n";
        let again = [(header::RETRY_AFTER, AGAIN.to_string())];
        return (StatusCode::SERVICE_UNAVAILABLE, again, text).into_response();
    };
    let Some((past, future)) = live.handle.tape() else {
        return (StatusCode::NOT_FOUND, "this servent keeps no recording\n").into_response();
    };
    let past = stream::iter(past).map(StreamLine::One);
    let future = BroadcastStream::new(future).map(|next| match next {
        Ok(line) => StreamLine::One(line),
        Err(BroadcastStreamRecvError::Lagged(lost)) => StreamLine::Lost(lost),
    });
    let events = events(past.chain(future), place);
    Sse::new(events).keep_alive(KeepAlive::default()).into_response()
}

enum StreamLine {
    One(Arc<str>),
    /// The reader was too slow for this many lines.
    Lost(u64),
}

/// Ends the stream when lines are lost: a recording with a gap cannot be replayed,
/// and a browser reconnects by itself and gets everything from the start. The
/// reader keeps its place as long as the stream.
fn events(
    lines: impl Stream<Item = StreamLine>,
    place: OwnedSemaphorePermit,
) -> impl Stream<Item = Result<Event, Infallible>> {
    lines.take_while(|line| std::future::ready(matches!(line, StreamLine::One(_)))).filter_map(
        move |line| {
            let _held = &place;
            std::future::ready(match line {
                StreamLine::One(text) => Some(Ok(Event::default().data(&*text))),
                StreamLine::Lost(lines) => {
                    tracing::info!(lines, "a reader of the recording was too slow");
                    None
                }
            })
        },
    )
}
