//! Finding the other side of a meeting (PA-10), for an endpoint that was bound with
//! [`super::EndpointOptions::meet`].

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, PoisonError};

use argon2::{Algorithm, Argon2, Params, Version};
use hkdf::Hkdf;
use if_addrs::get_if_addrs;
use servent_core::meet::{MeetKey, MeetRefusal, MeetSide, MeetingId, Visit};
use servent_core::node::{MeetAnswer, MeetCommand, NodeAnswer, NodeCommand};
use sha2::Sha256;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::Endpoint;
use super::door::fall_back;
use super::spread::spread;
use crate::driver::datagrams::{Lost, SharedEndpoint};
use crate::error::RunError;
use crate::net::udp::canonical;

/// The UDP port of a meeting place; the next one is its second.
pub const MEET_PORT: u16 = 6349;
/// Names the way in which names and keys of meetings are derived: another version of it
/// has other names.
const SALT: &[u8] = b"servent meeting 3";
/// What deriving them costs: 32 MiB, written four times.
const SLOWNESS: Params = match Params::new(32 << 10, 4, 1, None) {
    Ok(params) => params,
    Err(_) => Params::DEFAULT,
};
/// The most addresses of our own that are told the other side.
const LOCAL: usize = 8;

/// The name and the key of a meeting, which are all that the words for it are used
/// for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeetingSecret {
    /// What the place knows it by.
    pub meeting: MeetingId,
    /// What knocks are signed with.
    pub key: MeetKey,
}

impl MeetingSecret {
    /// Derives them from words that both sides know: two of a list of 2 048, so a place
    /// that tries them all has the key. That takes it days, and us a tenth of a second.
    #[must_use]
    pub fn from_words(words: &str) -> Self {
        let mut slow = [0; 32];
        // Nothing of this is too long or too short.
        let _ = Argon2::new(Algorithm::Argon2id, Version::V0x13, SLOWNESS).hash_password_into(
            words.as_bytes(),
            SALT,
            &mut slow,
        );
        let keys = Hkdf::<Sha256>::new(Some(SALT), &slow);
        let (mut meeting, mut key) = ([0; 16], [0; 16]);
        // Lengths this short are always possible.
        let _ = keys.expand(b"name", &mut meeting);
        let _ = keys.expand(b"key", &mut key);
        let half = |at: usize| {
            let mut half = [0; 8];
            half.copy_from_slice(&key[at..at + 8]);
            u64::from_be_bytes(half)
        };
        Self { meeting: MeetingId(meeting), key: MeetKey(half(0), half(8)) }
    }
}

/// What happens to a visit.
#[derive(Debug)]
pub struct MeetNews(Receiver<NodeAnswer>);

impl MeetNews {
    /// What happens next; `None` when the endpoint has ended.
    pub async fn next(&mut self) -> Option<MeetAnswer> {
        loop {
            match self.0.recv().await {
                Ok(NodeAnswer::Meet(answer)) => return Some(answer),
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    }
}

/// Ends the connection with a peer that is not reached through its place any more.
async fn part(shared: &SharedEndpoint, mut news: MeetNews) {
    while let Some(answer) = news.next().await {
        if let MeetAnswer::Left { peer, why } = answer {
            let ends = why == MeetRefusal::Closing;
            shared.give_up(peer, if ends { Lost::PlaceEnds } else { Lost::Left });
        }
    }
}

impl Endpoint {
    /// Begins to look for the other side of a meeting at these addresses of a
    /// place, instead of whatever was looked for before.
    ///
    /// # Errors
    /// The endpoint has ended.
    pub async fn visit(
        &self,
        places: Vec<SocketAddr>,
        secret: MeetingSecret,
        side: MeetSide,
    ) -> Result<MeetNews, RunError> {
        self.begin_visit(places, secret, (side, false)).await
    }

    /// The same to meet one other only, of several who come in turn: the place lets the next
    /// one have our seat then, and [`MeetAnswer::Introduced`] says when that is.
    ///
    /// # Errors
    /// The endpoint has ended.
    pub async fn visit_once(
        &self,
        places: Vec<SocketAddr>,
        secret: MeetingSecret,
        side: MeetSide,
    ) -> Result<MeetNews, RunError> {
        self.begin_visit(places, secret, (side, true)).await
    }

    async fn begin_visit(
        &self,
        places: Vec<SocketAddr>,
        secret: MeetingSecret,
        (side, once): (MeetSide, bool),
    ) -> Result<MeetNews, RunError> {
        let answers = || MeetNews(self.servent().answers());
        let news = answers();
        let places: Vec<_> = places.into_iter().map(canonical).collect();
        self.help(answers(), answers(), places.clone());
        let next = |at: &SocketAddr| {
            let port = at.port().checked_add(1)?;
            Some(SocketAddr::new(at.ip(), port))
        };
        let visit = Visit {
            probes: places.iter().filter_map(next).collect(),
            local: self.addresses(&places),
            places,
            meeting: secret.meeting,
            key: secret.key,
            side,
            once,
        };
        self.servent().command(NodeCommand::Meet(MeetCommand::Visit(visit))).await?;
        Ok(news)
    }

    /// What a visit needs besides the socket; until the next one begins.
    fn help(&self, news: MeetNews, more: MeetNews, places: Vec<SocketAddr>) {
        let shared = Arc::clone(&self.shared);
        let end = MeetNews(self.servent().answers());
        let helping = tokio::spawn(async move {
            tokio::join!(
                fall_back(&shared, news, places),
                spread(&shared, more),
                part(&shared, end)
            );
        });
        let mut visiting = self.visiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = visiting.replace(helping.abort_handle()) {
            before.abort();
        }
    }

    /// Ends a visit; a connection that was found stays.
    ///
    /// # Errors
    /// The endpoint has ended.
    pub async fn end_visit(&self) -> Result<(), RunError> {
        self.servent().command(NodeCommand::Meet(MeetCommand::End)).await
    }

    /// The same as a listener that wants no more callers: those that come later are told so.
    ///
    /// # Errors
    /// The endpoint has ended.
    pub async fn finish_visit(&self) -> Result<(), RunError> {
        self.servent().command(NodeCommand::Meet(MeetCommand::Finish)).await
    }

    /// As a place with two ports: has `other` greet those who ask for it here, until the
    /// task is ended.
    pub fn greet_from(&self, other: &Self) -> impl Future<Output = ()> + Send + use<> {
        let (mut news, other) = (MeetNews(self.servent().answers()), other.servent().clone());
        async move {
            while let Some(answer) = news.next().await {
                if let MeetAnswer::Elsewhere { to, nonce } = answer {
                    let greet = MeetCommand::Greet { to, nonce };
                    if other.command(NodeCommand::Meet(greet)).await.is_err() {
                        return;
                    }
                }
            }
        }
    }

    /// As a place: tells all that are here that it ends.
    ///
    /// # Errors
    /// The endpoint has ended.
    pub async fn close_place(&self) -> Result<(), RunError> {
        self.servent().command(NodeCommand::Meet(MeetCommand::Close)).await
    }

    /// Says where a router forwards what comes from outside to us: the other side of a
    /// visit that begins from now on is told (PA-11).
    pub fn set_outside(&self, outside: Option<SocketAddr>) {
        *self.outside.lock().unwrap_or_else(PoisonError::into_inner) = outside.map(canonical);
    }

    /// All addresses at which the other side may reach us.
    fn addresses(&self, places: &[SocketAddr]) -> Vec<SocketAddr> {
        let outside = *self.outside.lock().unwrap_or_else(PoisonError::into_inner);
        outside.into_iter().chain(self.own_addresses(places)).take(LOCAL).collect()
    }

    /// Our own addresses, as the other side of a meeting there may reach them (PA-11).
    #[must_use]
    pub fn own_addresses(&self, places: &[SocketAddr]) -> Vec<SocketAddr> {
        let at = self.local_addr();
        if !at.ip().is_unspecified() {
            return vec![canonical(at)];
        }
        // A place on this machine is for people on this machine.
        let here = places.iter().all(|place| place.ip().is_loopback());
        let of_use = |ip: &IpAddr| match ip {
            IpAddr::V4(ip) => ip.is_loopback() == here && !ip.is_link_local(),
            IpAddr::V6(ip) => {
                at.is_ipv6() && ip.is_loopback() == here && !ip.is_unicast_link_local()
            }
        };
        let interfaces = get_if_addrs().unwrap_or_default();
        let ips = interfaces.iter().map(|interface| interface.ip()).filter(of_use);
        ips.map(|ip| SocketAddr::new(ip, at.port())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_one_meeting_and_one_key_which_do_not_tell_each_other() {
        let [one, same, other] =
            ["ocean-pepper", "ocean-pepper", "ocean-viola"].map(MeetingSecret::from_words);
        assert_eq!(one, same);
        assert!(one.meeting != other.meeting && one.key != other.key);
        assert!(!one.meeting.0.starts_with(&one.key.0.to_be_bytes()));
    }

    /// All pairs of words are tried in days, not in the half minute of a fast hash.
    #[test]
    fn deriving_a_key_costs_memory_and_time() {
        assert!(SLOWNESS.m_cost() >= 32 << 10 && SLOWNESS.t_cost() >= 4);
    }
}
