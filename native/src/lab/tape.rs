//! `GET /api/tape`: every line of a servent's tape from its start, then each
//! new one as it is written, as server-sent events.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures::{Stream, StreamExt as _, stream};
use serde::Deserialize;
use tokio_stream::wrappers::BroadcastStream;
use tokio_stream::wrappers::errors::BroadcastStreamRecvError;

use super::Hub;

#[derive(Debug, Deserialize)]
pub(super) struct Which {
    servent: Option<String>,
}

pub(super) async fn tape(State(hub): State<Arc<Hub>>, Query(which): Query<Which>) -> Response {
    let Some(live) = hub.servent(which.servent.as_deref()) else {
        return (StatusCode::NOT_FOUND, "no such servent\n").into_response();
    };
    let Some((past, future)) = live.handle.tape() else {
        return (StatusCode::NOT_FOUND, "this servent keeps no tape\n").into_response();
    };
    let past = stream::iter(past).map(Line::One);
    let future = BroadcastStream::new(future).map(|next| match next {
        Ok(line) => Line::One(line),
        Err(BroadcastStreamRecvError::Lagged(lost)) => Line::Lost(lost),
    });
    Sse::new(events(past.chain(future))).keep_alive(KeepAlive::default()).into_response()
}

enum Line {
    One(Arc<str>),
    /// The reader was too slow for so many lines.
    Lost(u64),
}

/// Ends the stream at a loss: a tape with a hole cannot be replayed, and a
/// browser connects again by itself and gets everything from the start.
fn events(lines: impl Stream<Item = Line>) -> impl Stream<Item = Result<Event, Infallible>> {
    lines.take_while(|line| std::future::ready(matches!(line, Line::One(_)))).filter_map(|line| {
        std::future::ready(match line {
            Line::One(text) => Some(Ok(Event::default().data(&*text))),
            Line::Lost(lines) => {
                tracing::info!(lines, "a reader of the tape was too slow");
                None
            }
        })
    })
}
