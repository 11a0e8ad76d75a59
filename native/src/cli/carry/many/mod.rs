//! `send --to N` and `receive --from`: one sender, several receivers that pass
//! on what they have.

mod at_place;
mod fates;
mod give;
mod take;

use std::net::SocketAddr;
use std::path::PathBuf;

use servent::transfer::many::ManyError;
use servent_core::text::Shown;

pub(crate) use self::at_place::{PlaceGiving, give_at_place};
pub(crate) use self::give::{Giving, give};
pub(crate) use self::take::{Taking, take};
use crate::config::Settings;
use crate::exit::{Exit, Failure, error_text};

/// Where parcels are while they are given, and while they are incomplete.
pub(crate) fn parcels(settings: &Settings) -> PathBuf {
    settings.state.join("parcels")
}

/// The user stops it before all receivers have it.
fn stopped(have: u32, receivers: u32) -> Failure {
    let what = format!("stopped when {have} of {receivers} had all of it");
    Failure::new(Exit::Interrupted, what)
        .next("send it again: those who have a part of it go on from there")
}

/// Why a receiver did not get it.
fn failed(why: ManyError, peer: SocketAddr) -> Failure {
    let again = "run the same command again: only what is missing travels";
    match why {
        ManyError::Unanswered => Failure::new(Exit::Network, format!("no sender answers at {peer}"))
            .next(format!(
                "start `servent send --to N` there, and let UDP and TCP port {} through every firewall on the way",
                peer.port()
            )),
        ManyError::Closed => Failure::new(Exit::Network, format!("no program listens at UDP {peer}"))
            .next("start `servent send --to N` there, or name the port it listens on"),
        ManyError::Gone(why) => {
            Failure::new(Exit::Network, format!("{peer} is gone: {why}")).next(again)
        }
        ManyError::Refused(why) => {
            Failure::new(Exit::Refused, format!("{peer} does not go on: {}", Shown(&why)))
        }
        ManyError::WrongCode => {
            Failure::new(Exit::Refused, format!("the code is not that of {peer}"))
                .next("look at the code that the sender shows, and try again")
        }
        ManyError::Foreign => {
            let what = format!("{peer} speaks, but not as `servent send --to` of this version");
            Failure::new(Exit::Foreign, what).next("use the same version on both sides")
        }
        ManyError::Write(why) if why.kind() == std::io::ErrorKind::InvalidData => {
            Failure::new(Exit::Unverified, error_text(&why))
        }
        ManyError::Write(why) => {
            Failure::new(Exit::Disk, format!("cannot write here: {}", error_text(&why))).next(again)
        }
        ManyError::Swarm(why) => why.into(),
        other => Failure::new(Exit::Refused, other.to_string()),
    }
}
