//! What the other side of a transfer is called.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::{Value, json};
use servent::unicast::PeerWhereabouts;
use servent_core::meet::is_meeting_peer;

/// A meeting place that may relay, as the user named it.
#[derive(Debug, Clone)]
pub(crate) struct RelayPlace {
    name: Arc<str>,
    at: Arc<[SocketAddr]>,
}

impl RelayPlace {
    pub(crate) fn new(name: &str, at: &[SocketAddr]) -> Self {
        let canonical = |at: &SocketAddr| SocketAddr::new(at.ip().to_canonical(), at.port());
        Self { name: name.into(), at: at.iter().map(canonical).collect() }
    }

    /// True when what goes to this address is relayed.
    pub(crate) fn relays(&self, at: SocketAddr) -> bool {
        self.at.contains(&at)
    }
}

/// Where the other side of a transfer is now: a path that leads through a place may become
/// a direct one.
pub(crate) type OtherSideNow<'a> = Box<dyn Fn() -> OtherSide + Send + 'a>;

/// Where the other side of a transfer is: at an address, or reached through a meeting
/// place, whose address says nothing of it.
#[derive(Debug, Clone)]
pub(crate) struct OtherSide {
    who: &'static str,
    /// Where its datagrams go.
    pub(crate) at: SocketAddr,
    through: Option<Arc<str>>,
}

impl OtherSide {
    /// `who`: the sender or the receiver.
    pub(crate) fn new(who: &'static str, at: SocketAddr, place: Option<&RelayPlace>) -> Self {
        let through = place.filter(|place| place.relays(at)).map(|place| Arc::clone(&place.name));
        Self { who, at, through }
    }

    /// The same for one that may have been met in this moment: it is `at` until the endpoint
    /// has noted where it is.
    pub(crate) fn met(
        who: &'static str,
        (now, at): (&PeerWhereabouts, SocketAddr),
        place: Option<&RelayPlace>,
    ) -> Self {
        let noted = Some(now.now()).filter(|name| !is_meeting_peer(name.ip()));
        Self::new(who, noted.unwrap_or(at), place)
    }

    /// Its address, which is not known while a place relays to it.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.through.is_none().then_some(self.at)
    }

    /// The address of the place that relays to it.
    pub(crate) fn place(&self) -> Option<SocketAddr> {
        self.through.is_some().then_some(self.at)
    }

    /// Adds where it is to what a program is told: its address as `key`.
    pub(crate) fn placed(&self, key: &str, mut fact: Value) -> Value {
        fact[key] = json!(self.address());
        fact["relayed"] = self.through.is_some().into();
        fact["place"] = json!(self.place());
        fact
    }

    /// The name of the place that relays to it.
    pub(crate) fn through(&self) -> Option<&str> {
        self.through.as_deref()
    }

    /// The same with its part, where a sentence is about it.
    pub(crate) fn in_full(&self) -> String {
        match self.through {
            Some(_) => self.to_string(),
            None => format!("{} at {}", self.who, self.at),
        }
    }
}

impl fmt::Display for OtherSide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.through {
            Some(place) => write!(f, "{} through the meeting place {place}", self.who),
            None => self.at.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_who_is_reached_through_a_place_has_not_its_address() {
        let [place, peer] = ["192.0.2.1:6349", "192.0.2.7:7000"].map(|at| at.parse().unwrap());
        let relay = RelayPlace::new("place.example", &[place]);
        let shown = |at, relay| OtherSide::new("the sender", at, relay).to_string();
        assert_eq!(
            shown(place, Some(&relay)),
            "the sender through the meeting place place.example"
        );
        assert_eq!(shown(peer, Some(&relay)), "192.0.2.7:7000", "its path is direct");
        assert_eq!(shown(place, None), "192.0.2.1:6349", "no meeting place was named");
        let direct = OtherSide::new("the sender", peer, Some(&relay));
        assert_eq!(direct.in_full(), "the sender at 192.0.2.7:7000");
    }
}
