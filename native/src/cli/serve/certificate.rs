//! The certificate of a share that runs for months: it is renewed beside us, and ends.

use std::time::Duration;

use serde_json::{Value, json};
use servent::driver::Handle;
use servent::error::RunError;
use servent::{Clock, Identity};
use servent_core::node::{HttpCommand, NodeCommand};
use servent_core::time::{self, Instant};
use servent_core::wire::http::HttpDate;

use super::share::told;
use crate::progress::{Voice, count};

/// How often its files are looked at.
const LOOK: Duration = Duration::from_secs(20);
/// How long before its end people are told.
const SOON: time::Duration = time::Duration::from_secs(14 * DAY);
const DAY: u64 = 24 * 3_600;

/// Serves to new connections what the files of the identity are, and says when that
/// changes, or cannot.
pub(crate) async fn follow(identity: Identity, handle: Handle, voice: Voice) {
    let (mut broken, mut told_of_end) = (String::new(), None);
    let mut tick = tokio::time::interval(LOOK);
    loop {
        tick.tick().await;
        let renewed = tokio::task::block_in_place(|| identity.renew());
        let said = match renewed {
            Ok(true) => {
                broken.clear();
                if tell_names(&identity, &handle).await.is_err() {
                    return; // It has ended.
                }
                Some(renewal(&identity))
            }
            // Half of a pair may be written by now: it is looked at again.
            Err(why) if broken != why.to_string() => {
                broken = why.to_string();
                let text = format!("the certificate is not renewed, the old one is served: {why}");
                Some((json!({ "event": "identity_kept", "why": broken }), text))
            }
            as_before => {
                if as_before.is_ok() {
                    broken.clear();
                }
                let ends = Some(identity.ends());
                end(&identity).filter(|_| std::mem::replace(&mut told_of_end, ends) != ends)
            }
        };
        let Some((fact, text)) = said else { continue };
        // A closed pipe does not stop the servent.
        let _ = told(voice, &fact, &text);
    }
}

/// The names of a certificate are names that the owner gave: requests for them are answered.
pub(crate) async fn tell_names(identity: &Identity, handle: &Handle) -> Result<(), RunError> {
    let hosts = HttpCommand::Hosts { hosts: identity.names() };
    handle.command(NodeCommand::Http(hosts)).await
}

/// Another certificate is served.
fn renewal(identity: &Identity) -> (Value, String) {
    let print = identity.fingerprint().to_string();
    let ends = HttpDate::from_unix(identity.ends().as_micros() / 1_000_000).day_and_time();
    let fact = json!({ "event": "identity", "sha256": print, "ends": identity.ends() });
    (fact, format!("the certificate was renewed: fingerprint {print}, valid until {ends}"))
}

/// What is said of a certificate that ends soon.
fn end(identity: &Identity) -> Option<(Value, String)> {
    let text = ending(Clock::new().now(), identity.ends())?;
    Some((json!({ "event": "identity_ends", "ends": identity.ends() }), text))
}

/// The sentence for a certificate that ends soon, or has ended.
pub(crate) fn ending(now: Instant, ends: Instant) -> Option<String> {
    let left = ends.since(now);
    let date = HttpDate::from_unix(ends.as_micros() / 1_000_000).day_and_time();
    match left.as_secs() {
        0 => Some(format!("the certificate has ended: {date} UTC; no client trusts it any more")),
        _ if left >= SOON => None,
        left if left < DAY => Some(format!("the certificate ends within a day: {date} UTC")),
        left => Some(format!("the certificate ends in {}: {date} UTC", count(left / DAY, "day"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_told_two_weeks_ahead() {
        let ends = Instant::from_secs(784_111_777);
        let before = |seconds| ending(ends - time::Duration::from_secs(seconds), ends);
        assert_eq!(before(14 * DAY), None);
        let told = before(14 * DAY - 1).unwrap();
        assert_eq!(told, "the certificate ends in 13 days: 1994-11-06 08:49 UTC");
        assert!(before(0).unwrap().contains("has ended"));
    }
}
