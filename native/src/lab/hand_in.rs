//! How pages hand in their recordings while a room is recorded, and how its host gets
//! the recording.

use std::io;
use std::net::SocketAddrV4;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures::stream;
use serde::{Deserialize, Serialize};
use servent::driver::Handle;
use servent_core::trace::qlog;
use tokio::io::AsyncReadExt as _;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use super::Hub;
use super::recording::{Piece, Recording, RefusedPiece};

/// The longest piece of a recording, in bytes. Pages send half of that.
pub(super) const PIECE: usize = 2 << 20;
/// How long pages may take to hand in the end of their recordings, and how often it is
/// looked whether all have.
const LAST: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(50);
/// Bytes of the recording that are read at a time.
const READ: usize = 256 << 10;

/// Whose piece it is, and where it belongs.
#[derive(Debug, Deserialize)]
pub(super) struct PieceQuery {
    /// Where the page is called, and the secret by which it has that address.
    at: SocketAddrV4,
    secret: String,
    run: String,
    from: u64,
    #[serde(default)]
    round: u32,
}

/// What a page is told about its piece. None of that is an error, which a browser
/// would show to people who look for one.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum PieceAnswer {
    /// It was taken; so many bytes of the recording are there.
    Has(u64),
    /// It belongs elsewhere: only so many bytes are there.
    Only(u64),
    /// Nothing is recorded, or no more of this.
    Off,
}

/// `POST /api/room/tape`: a page hands in the next piece of its recording.
pub(super) async fn hand_in(
    State(hub): State<Arc<Hub>>,
    Query(given): Query<PieceQuery>,
    data: Bytes,
) -> Response {
    let (Some(part), Some(live)) = (&hub.part, hub.servent(None)) else {
        return (StatusCode::NOT_FOUND, "this is no room\n").into_response();
    };
    let Some(recording) = part.recording.clone() else {
        return Json(PieceAnswer::Off).into_response();
    };
    if !live.handle.is_page(given.at, &given.secret) {
        return (StatusCode::FORBIDDEN, "no page that is here says so\n").into_response();
    }
    let taken = spawn_blocking(move || {
        let PieceQuery { at, ref run, from, round, .. } = given;
        recording.take(&Piece { at, run, from, round, data: &data })
    });
    let answer = match taken.await.unwrap_or(Err(RefusedPiece::Failed)) {
        Ok(has) => PieceAnswer::Has(has),
        Err(RefusedPiece::Has(has)) => PieceAnswer::Only(has),
        Err(RefusedPiece::Off | RefusedPiece::Full | RefusedPiece::Failed) => PieceAnswer::Off,
    };
    Json(answer).into_response()
}

/// Asks all pages for what they have, and waits a little for it.
pub(crate) async fn collect(handle: &Handle, recording: &Recording) {
    let round = recording.ask();
    handle.tell_pages(&format!("TAPE {round}"));
    let pages = || handle.relayed().map_or(0, |relayed| relayed.pages);
    let all = async {
        while recording.answered(round) < pages() {
            sleep(LOOK).await;
        }
    };
    if timeout(LAST, all).await.is_err() {
        tracing::info!("a page has not handed in the end of its recording");
    }
}

/// The recording of a servent as a file, as far as it is in memory.
pub(super) fn tape_of(handle: &Handle) -> Vec<u8> {
    let lines = handle.tape().map(|(lines, _)| lines).unwrap_or_default();
    lines.iter().flat_map(|line| qlog::frame(line).into_bytes()).collect()
}

/// `GET /api/room/recording`: all recordings in one file, for the host to keep.
pub(super) async fn recording(State(hub): State<Arc<Hub>>) -> Response {
    let recording = hub.part.as_ref().and_then(|part| part.recording.clone());
    let (Some(recording), Some(live)) = (recording, hub.servent(None)) else {
        return (StatusCode::NOT_FOUND, "this is no room\n").into_response();
    };
    if recording.recorded().is_none() {
        return (StatusCode::NOT_FOUND, "nothing is recorded\n").into_response();
    }
    let servent = tape_of(&live.handle);
    let written = spawn_blocking(move || {
        let copy = recording.copy();
        recording.put_together(&servent, &copy)?;
        let file = std::fs::File::open(&copy)?;
        // What is read is this one file, even if the next request makes another.
        std::fs::remove_file(&copy)?;
        io::Result::Ok(file)
    });
    let file = match written.await {
        Ok(Ok(file)) => tokio::fs::File::from_std(file),
        Ok(Err(why)) => {
            return (StatusCode::INTERNAL_SERVER_ERROR, format!("{why}\n")).into_response();
        }
        Err(_) => return StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    };
    let chunks = stream::try_unfold(file, |mut file| async move {
        let mut buffer = vec![0; READ];
        let n = file.read(&mut buffer).await?;
        buffer.truncate(n);
        io::Result::Ok((n > 0).then(|| (Bytes::from(buffer), file)))
    });
    let kind = (header::CONTENT_TYPE, "application/qlog+json-seq");
    let name = (header::CONTENT_DISPOSITION, "attachment; filename=\"room.sqlog\"");
    ([kind, name], Body::from_stream(chunks)).into_response()
}
