//! What is said and done when the other side of a transfer is silent. Each side says every
//! five seconds that it is there.

use std::convert::Infallible;
use std::net::IpAddr;
use std::time::Duration;

use serde_json::{Value, json};
use servent::transfer::SILENT;
use servent::unicast::{Endpoint, PeerSilence};
use tokio::time::{sleep, timeout};

use super::other_side::OtherSide;
use super::questions::Counted;
use crate::cli::finding::via::{FoundPeer, ViaPlace, leave};
use crate::exit::Failure;
use crate::progress::Reporter;

/// The pause before the other side is sought again.
const SEEK_AGAIN: Duration = Duration::from_secs(1);
/// How long the other side is not heard, after this machine has changed networks, before it
/// is sought.
const UNHEARD: Duration = Duration::from_secs(1);
/// How long after that change its silence may come from it.
const MATTERS: Duration = Duration::from_secs(4);
/// How long it may take to leave the place.
const LEAVING: Duration = Duration::from_millis(200);

fn say_silent(other: &OtherSide, tell: impl Fn(Value, &str)) {
    let fact = other.placed("peer", json!({ "event": "silent", "seconds": SILENT.as_secs() }));
    let (other, seconds) = (other.in_full(), SILENT.as_secs());
    tell(fact, &format!("no word from {other} for {seconds} s; waiting for it"));
}

fn say_moved(ours: IpAddr, other: &OtherSide, reporter: &Reporter) {
    let fact = other.placed("peer", json!({ "event": "network", "address": ours }));
    let other = other.in_full();
    let sentence = format!("this machine has another address now, {ours}: looking for {other}");
    reporter.tell(&fact, &sentence);
}

fn say_heard(other: &OtherSide, tell: impl Fn(Value, &str)) {
    let fact = other.placed("peer", json!({ "event": "heard" }));
    tell(fact, &format!("{} is there again", other.in_full()));
}

/// Says when the other side is silent, and when it is there again, for ever. While it is
/// silent it is one of `silent`.
pub(crate) async fn tell_silence(
    (silence, silent): (PeerSilence, &Counted),
    other: impl Fn() -> OtherSide,
    tell: impl Fn(Value, &str),
) -> Infallible {
    loop {
        silence.reaches(SILENT).await;
        let counted = silent.one();
        say_silent(&other(), &tell);
        silence.ends(SILENT).await;
        drop(counted);
        say_heard(&other(), &tell);
    }
}

/// Seeks a receiver that is silent at its meeting place: one that was started again is
/// found there, from the endpoint in `seat`, as is one whose router does not know us since this
/// machine has changed networks. The connection goes on meanwhile, and the
/// search ends when the receiver is heard on it; the endpoint stays for the next search.
pub(crate) async fn find_again(
    (via, silence): (&ViaPlace, PeerSilence),
    bind: impl AsyncFn() -> Result<Endpoint, Failure>,
    other: impl Fn() -> OtherSide,
    (seat, reporter): (&mut Option<Endpoint>, &Reporter),
) -> (Endpoint, FoundPeer) {
    let tell = |fact: Value, sentence: &str| reporter.tell(&fact, sentence);
    loop {
        let moved = async {
            loop {
                let ours = via.has_another_network().await;
                if timeout(MATTERS, silence.reaches(UNHEARD)).await.is_ok() {
                    return ours;
                }
            }
        };
        let silent = tokio::select! {
            () = silence.reaches(SILENT) => {
                say_silent(&other(), tell);
                SILENT
            }
            ours = moved => {
                say_moved(ours, &other(), reporter);
                UNHEARD
            }
        };
        let found = tokio::select! {
            found = seek(via, &bind, seat, reporter) => Some(found),
            () = silence.ends(silent) => None,
        };
        if let Some(found) = found
            && let Some(endpoint) = seat.take()
        {
            return (endpoint, found);
        }
        free_seat(seat).await;
        say_heard(&other(), tell);
    }
}

/// Leaves the place. The endpoint, if there is one, stays for the next search: what it may
/// still spend on knocks is the endpoint's, and a place that introduces a sender to many
/// addresses would have as much anew from every other one.
pub(crate) async fn free_seat(seat: &mut Option<Endpoint>) {
    if let Some(endpoint) = seat
        && endpoint.end_visit().await.is_err()
    {
        *seat = None; // It has ended.
    }
}

/// The search is over for good.
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
        if seat.is_none() {
            *seat = bind().await.ok();
        }
        if let Some(endpoint) = seat
            && let Ok(found) = via.call(endpoint, None, reporter).await
        {
            return found;
        }
        free_seat(seat).await;
        sleep(SEEK_AGAIN).await;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::net::{Ipv4Addr, UdpSocket};

    use servent::unicast::{EndpointOptions, MeetingSecret};

    use super::*;
    use crate::cli::finding::via::bind_any;
    use crate::progress::Voice;

    /// A place that never answers is given up after four seconds, and asked again.
    #[tokio::test]
    async fn a_search_goes_on_from_the_socket_on_which_it_began() {
        let place = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let name = place.local_addr().unwrap().to_string();
        let via = ViaPlace::find(&name, MeetingSecret::from_words("ocean-pepper")).await.unwrap();
        let bound = Cell::new(0);
        let bind = async || {
            bound.set(bound.get() + 1);
            bind_any(Some((Ipv4Addr::LOCALHOST, 0).into()), EndpointOptions::default()).await
        };
        let (mut seat, reporter) = (None, Reporter::new(Voice::Quiet, false));
        for _ in 0..2 {
            let search = seek(&via, &bind, &mut seat, &reporter);
            assert!(tokio::time::timeout(Duration::from_secs(6), search).await.is_err());
            free_seat(&mut seat).await;
        }
        assert_eq!(bound.get(), 1, "each has as many knocks to spend");
        leave_seat(seat).await;
    }
}
