//! What is said and done when the other side of a transfer is silent. Each side says every
//! five seconds that it is there.

use std::convert::Infallible;
use std::time::Duration;

use serde_json::json;
use servent::transfer::SILENT;
use servent::unicast::{Endpoint, PeerSilence};
use tokio::time::sleep;

use super::other_side::OtherSide;
use super::questions::Counted;
use crate::cli::finding::via::{FoundPeer, ViaPlace, leave};
use crate::exit::Failure;
use crate::progress::Reporter;

/// The pause before the other side is sought again.
const SEEK_AGAIN: Duration = Duration::from_secs(1);
/// How long it may take to leave the place.
const LEAVING: Duration = Duration::from_millis(200);

fn say_silent(other: &OtherSide, reporter: &Reporter) {
    let fact = other.placed("peer", json!({ "event": "silent", "seconds": SILENT.as_secs() }));
    let (other, seconds) = (other.in_full(), SILENT.as_secs());
    reporter.tell(&fact, &format!("no word from {other} for {seconds} s; waiting for it"));
}

fn say_heard(other: &OtherSide, reporter: &Reporter) {
    let fact = other.placed("peer", json!({ "event": "heard" }));
    reporter.tell(&fact, &format!("{} is there again", other.in_full()));
}

/// Says when the other side is silent, and when it is there again, for ever. While it is
/// silent it is one of `silent`.
pub(crate) async fn tell_silence(
    (silence, silent): (PeerSilence, &Counted),
    other: impl Fn() -> OtherSide,
    reporter: &Reporter,
) -> Infallible {
    loop {
        silence.reaches(SILENT).await;
        let counted = silent.one();
        say_silent(&other(), reporter);
        silence.ends(SILENT).await;
        drop(counted);
        say_heard(&other(), reporter);
    }
}

/// Seeks a receiver that is silent at its meeting place: one that was started again is
/// found there, from the endpoint in `seat`. The connection goes on meanwhile, and the
/// search ends when the receiver is heard on it.
pub(crate) async fn find_again(
    (via, silence): (&ViaPlace, PeerSilence),
    bind: impl AsyncFn() -> Result<Endpoint, Failure>,
    other: impl Fn() -> OtherSide,
    (seat, reporter): (&mut Option<Endpoint>, &Reporter),
) -> (Endpoint, FoundPeer) {
    loop {
        silence.reaches(SILENT).await;
        say_silent(&other(), reporter);
        let found = tokio::select! {
            found = seek(via, &bind, seat, reporter) => Some(found),
            () = silence.ends(SILENT) => None,
        };
        match (found, seat.take()) {
            (Some(found), Some(endpoint)) => return (endpoint, found),
            (_, unused) => leave_seat(unused).await,
        }
        say_heard(&other(), reporter);
    }
}

/// Leaves a seat that is not needed, if there is one.
pub(crate) async fn leave_seat(seat: Option<Endpoint>) {
    if let Some(endpoint) = seat {
        leave(endpoint, LEAVING).await;
    }
}

async fn seek(
    via: &ViaPlace,
    bind: &impl AsyncFn() -> Result<Endpoint, Failure>,
    seat: &mut Option<Endpoint>,
    reporter: &Reporter,
) -> FoundPeer {
    loop {
        if let Ok(endpoint) = bind().await {
            let endpoint = seat.insert(endpoint);
            if let Ok(found) = via.call(endpoint, None, reporter).await {
                return found;
            }
            leave_seat(seat.take()).await;
        }
        sleep(SEEK_AGAIN).await;
    }
}
