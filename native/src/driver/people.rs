//! Who is at the other end of connections, for limits per person: an address,
//! or a /64 network of IPv6, counts as one.

use std::collections::BTreeMap;
use std::iter;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use servent_core::id::ConnId;

use super::ServentOptions;
use crate::net::{Pace, Paces, Rate};

/// Rate limits.
#[derive(Debug, Clone)]
pub(super) struct Rates {
    /// Bytes per second of all uploads.
    pub(super) up: Option<u64>,
    /// Bytes per second of all uploads to one person.
    pub(super) each: Option<u64>,
    /// Of all downloads.
    pub(super) down: Option<Rate>,
}

impl Rates {
    pub(super) fn from_options(options: &ServentOptions) -> Self {
        let ServentOptions { upload_rate, upload_rate_per_peer, download_rate, .. } = options;
        Self { up: *upload_rate, each: *upload_rate_per_peer, down: download_rate.clone() }
    }
}

/// The upload rates of all connections.
#[derive(Debug)]
pub(super) struct People {
    /// The limit on all of them together; what runs keeps hold of it, and it may change.
    all: Arc<Pace>,
    /// Bytes per second of all of them together, as configured; and what they may have at
    /// most for the time being.
    configured: Option<u64>,
    ceiling: Option<u64>,
    /// Bytes per second for each person.
    each: Option<u64>,
    conns: BTreeMap<ConnId, IpAddr>,
    /// The limit of each connected person, and the number of that person's
    /// connections.
    here: BTreeMap<IpAddr, (Arc<Pace>, u32)>,
}

impl People {
    /// From the bytes per second of all uploads together, and of each person.
    pub(super) fn new(all: Option<u64>, each: Option<u64>) -> Self {
        Self {
            all: Arc::new(Pace::limited(all)),
            configured: all,
            ceiling: None,
            each,
            conns: BTreeMap::new(),
            here: BTreeMap::new(),
        }
    }

    /// From now on the limits are these, for what runs too.
    pub(super) fn limit(&mut self, all: Option<u64>, each: Option<u64>) {
        (self.configured, self.each) = (all, each);
        self.pace();
        self.here.values().for_each(|(pace, _)| pace.set(each));
    }

    /// From now on all of them together have no more than this, whatever is configured.
    pub(super) fn cap(&mut self, ceiling: Option<u64>) {
        self.ceiling = ceiling;
        self.pace();
    }

    fn pace(&self) {
        self.all.set(self.configured.into_iter().chain(self.ceiling).min());
    }

    /// A connection began.
    pub(super) fn came(&mut self, conn: ConnId, from: IpAddr) {
        let (who, each) = (person(from), self.each);
        let fresh = || (Arc::new(Pace::limited(each)), 0);
        self.here.entry(who).or_insert_with(fresh).1 += 1;
        self.conns.insert(conn, who);
    }

    /// A connection ended.
    pub(super) fn went(&mut self, conn: ConnId) {
        let Some(who) = self.conns.remove(&conn) else { return };
        if let Some((_, conns)) = self.here.get_mut(&who) {
            *conns -= 1;
            if *conns == 0 {
                self.here.remove(&who);
            }
        }
    }

    /// The rate limits that apply to an upload on a connection.
    pub(super) fn paces(&self, conn: ConnId) -> Paces {
        let own = self.conns.get(&conn).and_then(|who| self.here.get(who));
        Paces(iter::once(&self.all).chain(own.map(|(pace, _)| pace)).cloned().collect())
    }
}

fn person(at: IpAddr) -> IpAddr {
    match at.to_canonical() {
        IpAddr::V6(at) => {
            let [a, b, c, d, ..] = at.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        at => at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_connections_of_one_person_share_a_rate_until_the_last_is_gone() {
        let mut people = People::new(None, Some(1_000));
        let at = |text: &str| text.parse::<IpAddr>().unwrap();
        let [a, b, c] = [2, 4, 6].map(ConnId);
        people.came(a, at("2001:db8::1"));
        people.came(b, at("2001:db8::2"));
        people.came(c, at("2001:db8:0:1::1"));
        let rate = |people: &People, conn| Arc::clone(&people.paces(conn).0[1]);
        assert!(Arc::ptr_eq(&rate(&people, a), &rate(&people, b)));
        assert!(!Arc::ptr_eq(&rate(&people, a), &rate(&people, c)));
        people.went(a);
        assert_eq!(people.paces(b).0.len(), 2);
        people.went(b);
        people.went(b);
        assert_eq!((people.paces(b).0.len(), people.here.len()), (1, 1));
    }

    #[test]
    fn limits_change_while_uploads_run() {
        let mut people = People::new(Some(1_000), Some(100));
        people.came(ConnId(2), "127.0.0.1".parse().unwrap());
        let running = people.paces(ConnId(2));
        assert_eq!(running.chunk(1 << 30), 1_024);
        people.limit(Some(1 << 20), None);
        assert_eq!(running.chunk(1 << 30), (1 << 20) / 50);
        people.limit(None, None);
        assert_eq!(running.chunk(1 << 16), 1 << 16);
        people.limit(None, Some(1 << 20));
        assert_eq!(running.chunk(1 << 30), (1 << 20) / 50);
    }

    #[test]
    fn a_ceiling_only_lowers_what_is_configured_and_gives_it_back() {
        let mut people = People::new(None, None);
        people.came(ConnId(2), "127.0.0.1".parse().unwrap());
        let running = people.paces(ConnId(2));
        people.cap(Some(1 << 20));
        assert_eq!(running.chunk(1 << 30), (1 << 20) / 50);
        people.limit(Some(1 << 21), None);
        assert_eq!(running.chunk(1 << 30), (1 << 20) / 50, "more is configured meanwhile");
        people.limit(Some(1 << 19), None);
        assert_eq!(running.chunk(1 << 30), (1 << 19) / 50, "less is configured");
        people.cap(None);
        assert_eq!(running.chunk(1 << 30), (1 << 19) / 50);
        people.limit(None, None);
        assert!(running.is_free());
    }

    #[test]
    fn a_first_limit_holds_for_what_runs_without_one() {
        let mut people = People::new(None, None);
        people.came(ConnId(2), "127.0.0.1".parse().unwrap());
        let running = people.paces(ConnId(2));
        assert!(running.is_free());
        people.limit(None, Some(1 << 20));
        assert!(!running.is_free());
        assert_eq!(running.chunk(1 << 30), (1 << 20) / 50);
        people.limit(Some(1_000), None);
        assert_eq!(running.chunk(1 << 30), 1_024);
        people.limit(None, None);
        assert!(running.is_free());
    }
}
