//! Finding sources for a file of which only the hash is known.

use std::ops::ControlFlow;
use std::time::Duration;

use serde_json::json;
use servent_core::id::Sha1;
use servent_core::node::SearchHit;

use super::anywhere::split_each;
use super::source::RequestedFile;
use crate::cli::finding::link::MeetLink;
use crate::cli::search::{self, Asking, HitReach, HitRoute, SearchEnd};
use crate::config::Config;
use crate::exit::{Exit, Failure};
use crate::progress::{Voice, count};

/// Enough sources that need no push; further ones are learnt from these.
const ENOUGH: usize = 8;
/// How long to wait for the first answer.
const FIRST: Duration = Duration::from_secs(10);
/// How long to wait for further answers.
const NEXT: Duration = Duration::from_secs(2);

/// What a search has found of one file.
struct OverlaySources {
    sha1: Sha1,
    voice: Voice,
    hits: Vec<(HitReach, SearchHit, HitRoute)>,
    /// Hits of servents that no way leads to.
    unreached: u64,
}

impl OverlaySources {
    fn count(&self, reach: HitReach) -> usize {
        self.hits.iter().filter(|(it, ..)| *it == reach).count()
    }

    /// Adds a hit; true when there are enough.
    fn add(&mut self, hit: SearchHit, route: HitRoute) -> bool {
        let reach = match route.reach(&hit) {
            // That others cannot connect to us may have been found out long ago.
            HitReach::None if hit.push && route.peer.is_some() => HitReach::Push,
            reach => reach,
        };
        if hit.sha1 != Some(self.sha1) {
            return false;
        }
        if reach == HitReach::None {
            self.unreached += 1;
        } else if self.count(reach) < ENOUGH {
            let (at, url) = (hit.at, search::locator(&hit, route.peer));
            let url = route.link(&hit).unwrap_or(url);
            let told = json!({ "event": "source", "url": url, "at": at, "reach": reach });
            self.voice.note(&told, &format!("{at} has it: {url}"));
            self.hits.push((reach, hit, route));
        }
        self.count(HitReach::Direct) + self.count(HitReach::Meet) >= ENOUGH
    }

    /// Makes sources of them, the best first. The file is named by the first of them, unless a
    /// name is known. Returns where those are met that cannot be connected to.
    fn give(mut self, wanted: &mut RequestedFile) -> Result<Vec<MeetLink>, Failure> {
        self.hits.sort_by_key(|(reach, ..)| *reach);
        let mut links = Vec::new();
        for (reach, mut hit, route) in self.hits {
            if wanted.name.is_none() {
                let leaf = hit.name.rfind('/').map_or(0, |slash| slash + 1);
                wanted.name = Some(hit.name[leaf..].to_owned());
            }
            if reach == HitReach::Direct {
                wanted.add_source(&search::locator(&hit, route.peer))?;
            }
            if let Some(link) = route.link(&hit) {
                links.push(link);
            }
            // Of those that are connected to one may be where a proxy alone reaches it.
            if hit.push || !hit.proxies.is_empty() {
                hit.push = true;
                if route.peer.is_some() {
                    wanted.add_source(&search::locator(&hit, route.peer))?;
                }
            }
        }
        let (urls, links) = split_each(&links)?;
        urls.iter().try_for_each(|url| wanted.add_source(url))?;
        Ok(links)
    }

    /// Why there is no source.
    fn none(&self, words: &str) -> Failure {
        if self.unreached > 0 {
            let what = format!(
                "{} {words}, and no way leads there",
                match self.unreached {
                    1 => String::from("one servent has"),
                    n => format!("{} have", count(n, "servent")),
                }
            );
            return Failure::new(Exit::Network, what).next(
                "one that is behind a router is reached when it runs with --meet, or when others \
                 can connect to us",
            );
        }
        Failure::new(Exit::Network, format!("no servent has {words}"))
            .next("name a servent that has it: HOST:PORT, or another part of the overlay: --peer")
    }
}

/// Searches the overlay for sources. Returns where those of them are met that cannot be
/// connected to.
///
/// # Errors
/// No source was found, or no peer could be asked.
pub(super) async fn sources(
    config: &Config,
    wanted: &mut RequestedFile,
    (peers, lan): (&[String], bool),
    voice: Voice,
) -> Result<Vec<MeetLink>, Failure> {
    let Some(sha1) = wanted.sha1 else { return Ok(Vec::new()) };
    let words = format!("urn:sha1:{sha1}");
    voice.note(
        &json!({ "event": "looking", "urn": words }),
        &format!("asking the overlay for {words}"),
    );
    let mut found = OverlaySources { sha1, voice, hits: Vec::new(), unreached: 0 };
    let mut take = |hit: SearchHit, route: HitRoute| {
        let enough = found.add(hit, route);
        Ok(if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    };
    let asking = Asking { words: words.clone(), peers, lan, quiet: (FIRST, NEXT), voice };
    match search::ask(config, asking, &mut take).await? {
        SearchEnd::Stopped => {
            Err(Failure::new(Exit::Interrupted, "stopped before a source was found"))
        }
        _ if found.hits.is_empty() => Err(found.none(&words)),
        _ => found.give(wanted),
    }
}

#[cfg(test)]
mod tests {
    use servent_core::id::Guid;

    use super::*;

    const SHA1: Sha1 = Sha1([0; 20]);

    fn hit(servent: u8, at: &str, push: bool) -> SearchHit {
        let (name, servent) = (format!("folder/{servent}.ogg"), Guid([servent; 16]));
        SearchHit { name, servent, sha1: Some(SHA1), ..search::tests::hit(at, push) }
    }

    fn found() -> OverlaySources {
        OverlaySources { sha1: SHA1, voice: Voice::Quiet, hits: Vec::new(), unreached: 0 }
    }

    #[test]
    fn pa_16_every_servent_that_has_it_is_a_source_and_the_best_comes_first() {
        let peer = Some("80.9.9.9:6346".parse().unwrap());
        let route =
            |link: Option<&str>| HitRoute { peer, meeting: link.map(str::to_owned), walled: false };
        let [one, other] =
            ["ocean-pepper-violin-garden-moon@3.3.3.3:6349", "ocean-moon-violin-sun-sea@4.4.4.4"]
                .map(|link| format!("meet://{link}"));
        let mut found = found();
        let hits = [
            (hit(1, "10.0.0.1:6346", true), route(None)),
            (hit(2, "10.0.0.2:6346", true), route(Some(&one))),
            (hit(3, "80.3.3.3:6346", false), route(None)),
            (hit(4, "10.0.0.4:6346", true), route(Some(&other))),
            (hit(5, "10.0.0.5:6346", false), route(None)),
        ];
        for (hit, route) in hits {
            assert!(!found.add(hit, route));
        }
        assert_eq!(found.unreached, 1, "one says an address that is nobody's here");
        let mut wanted = RequestedFile { sha1: Some(SHA1), ..RequestedFile::default() };
        let links = found.give(&mut wanted).unwrap();
        assert_eq!(links.len(), 2);
        let hosts: Vec<&str> = wanted.places.iter().map(|it| &*it.host).collect();
        assert_eq!((hosts.len(), hosts[0]), (3, "80.3.3.3:6346"), "{hosts:?}");
        assert!(hosts[1..].iter().all(|host| host.starts_with("[fd73:6577:")), "{hosts:?}");
        assert_eq!(wanted.name.as_deref(), Some("3.ogg"));
        let pushes: Vec<Guid> = wanted.pushes().map(|from| from.servent).collect();
        assert_eq!(pushes, [2, 4, 1].map(|n| Guid([n; 16])), "those that may be met come first");
    }

    #[test]
    fn pa_16_hits_that_need_a_push_do_not_end_the_search() {
        let peer = Some("80.9.9.9:6346".parse().unwrap());
        let pushed = HitRoute { peer, ..HitRoute::default() };
        let mut found = found();
        for n in 0..20 {
            assert!(!found.add(hit(n, "10.0.0.1:6346", true), pushed.clone()));
        }
        assert_eq!(found.hits.len(), ENOUGH);
        let met = HitRoute { meeting: Some("meet://a-b@3.3.3.3".into()), ..pushed };
        let enough = (20..40).filter(|n| !found.add(hit(*n, "10.0.0.1:6346", true), met.clone()));
        assert_eq!(enough.count(), ENOUGH - 1);
    }

    #[test]
    fn pa_16_where_no_way_leads_it_is_said() {
        let mut found = found();
        assert!(found.none("urn:x").what.starts_with("no servent has urn:x"));
        for (n, said) in [(1, "one servent has urn:x"), (2, "2 servents have urn:x")] {
            found.add(hit(n, "10.0.0.5:6346", false), HitRoute::default());
            assert!(found.none("urn:x").what.starts_with(said));
        }
        assert!(found.hits.is_empty());
    }
}
