//! Names that stand for several machines: when the address that a download knows
//! does not answer, the others of the same name are tried, so that what the
//! server knows us by (a place in its line) is presented to the member that has taken over.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use servent_core::node::{DownloadSource, FetchCommand, Get, Input, NodeCommand};
use tokio::net::lookup_host;

/// Names that are remembered; those of one command are fewer.
const MOST: usize = 4_096;
/// Addresses of one name that are tried.
const TRIED: usize = 8;
/// How long a name may take to be looked up.
const LOOKUP: Duration = Duration::from_secs(5);

/// The names that the user gave for sources, by the address that was found first.
#[derive(Debug, Default)]
pub(crate) struct SourceNames {
    named: Mutex<BTreeMap<SocketAddr, NamedSource>>,
    /// Those that were asked by https, as their URLs begin.
    secure: Mutex<BTreeMap<SocketAddr, String>>,
}

#[derive(Debug)]
struct NamedSource {
    name: String,
    /// Where a connection was made last.
    reached: SocketAddr,
}

impl SourceNames {
    fn all(&self) -> MutexGuard<'_, BTreeMap<SocketAddr, NamedSource>> {
        self.named.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers the names in what the node is given: by the user, or from the
    /// store. Those that servers name are not among them.
    pub(crate) fn remember(&self, input: &Input) {
        let learn = |get: &Get| get.sources.iter().for_each(|source| self.learn(source));
        match input {
            Input::Start(restored) => restored.fetches.iter().for_each(|row| learn(&row.get)),
            Input::Command(NodeCommand::Fetch(FetchCommand::Get(get))) => learn(get),
            _ => {}
        }
    }

    /// Remembers the name of a source, if it has one and not only an address.
    fn learn(&self, source: &DownloadSource) {
        let rest = source.target.strip_prefix("https://");
        if let Some(host) = rest.and_then(|rest| rest.split('/').next()) {
            let mut secure = self.secure.lock().unwrap_or_else(PoisonError::into_inner);
            if secure.len() < MOST {
                secure.insert(source.at, format!("https://{host}/"));
            }
        }
        let mut all = self.all();
        if let Some(name) = name_of(&source.host)
            && (all.len() < MOST || all.contains_key(&source.at))
        {
            let named = || NamedSource { name: name.to_owned(), reached: source.at };
            all.entry(source.at).or_insert_with(named);
        }
    }

    /// The URL of what is shared there.
    pub(crate) fn list_of(&self, at: SocketAddr) -> String {
        let secure = self.secure.lock().unwrap_or_else(PoisonError::into_inner);
        secure.get(&at).cloned().unwrap_or_else(|| format!("http://{at}/"))
    }

    /// What to try first for an address.
    pub(crate) fn first(&self, to: SocketAddr) -> SocketAddr {
        self.all().get(&to).map_or(to, |named| named.reached)
    }

    /// What else to try: the addresses that its name has now.
    pub(crate) async fn others(&self, to: SocketAddr) -> Vec<SocketAddr> {
        let (name, tried) = match self.all().get(&to) {
            Some(named) => (named.name.clone(), named.reached),
            None => return Vec::new(),
        };
        let found = tokio::time::timeout(LOOKUP, lookup_host((name, to.port()))).await;
        let found = found.into_iter().flatten().flatten();
        let mut others = Vec::new();
        for at in [to].into_iter().chain(found) {
            if at != tried && !others.contains(&at) && others.len() < TRIED {
                others.push(at);
            }
        }
        others
    }

    /// A connection for an address was made to another one of its name.
    pub(crate) fn reached(&self, to: SocketAddr, at: SocketAddr) {
        if let Some(named) = self.all().get_mut(&to) {
            named.reached = at;
        }
    }
}

/// The name in `NAME` or `NAME:PORT`; `None` for an address.
fn name_of(host: &str) -> Option<&str> {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let is_address = host.starts_with('[') || name.parse::<IpAddr>().is_ok() || name.contains(':');
    (!is_address && !name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(at: &str, host: &str) -> DownloadSource {
        DownloadSource { at: at.parse().unwrap(), target: "/".into(), host: host.into() }
    }

    #[test]
    fn a_name_is_told_from_an_address() {
        for (host, name) in [("h", Some("h")), ("h.org:80", Some("h.org"))] {
            assert_eq!(name_of(host), name, "{host}");
        }
        for host in ["1.2.3.4", "1.2.3.4:80", "[::1]", "[::1]:80", "::1", "", ":80"] {
            assert_eq!(name_of(host), None, "{host}");
        }
    }

    #[tokio::test]
    async fn what_was_reached_last_is_tried_first_and_then_all_others() {
        let names = SourceNames::default();
        let (to, other) = ("127.0.0.9:7".parse().unwrap(), "127.0.0.1:7".parse().unwrap());
        names.learn(&source("127.0.0.9:7", "127.0.0.9:7"));
        assert_eq!((names.first(to), names.others(to).await), (to, Vec::new()));
        names.learn(&source("127.0.0.9:7", "localhost:7"));
        assert_eq!(names.first(to), to);
        assert!(names.others(to).await.contains(&other));
        names.reached(to, other);
        names.learn(&source("127.0.0.9:7", "localhost:7"));
        assert_eq!(names.first(to), other);
        let others = names.others(to).await;
        assert_eq!(others.first(), Some(&to));
        assert!(!others.contains(&other));
    }
}
