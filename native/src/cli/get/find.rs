//! Finding sources for a file of which only the hash is known.

use std::ops::ControlFlow;
use std::time::Duration;

use serde_json::json;
use servent_core::address::may_dial;
use servent_core::node::SearchHit;

use super::anywhere::split_each;
use super::source::RequestedFile;
use crate::cli::finding::link::MeetLink;
use crate::cli::search::{self, Asking, HitRoute, SearchEnd};
use crate::config::Config;
use crate::exit::{Exit, Failure};
use crate::progress::Voice;

/// Enough sources; further ones are learnt from these.
const ENOUGH: usize = 8;
/// How long to wait for the first answer.
const FIRST: Duration = Duration::from_secs(10);
/// How long to wait for further answers.
const NEXT: Duration = Duration::from_secs(2);

/// Searches the overlay for sources. The file is named by the first hit, unless
/// a name is known. Returns where one of them is met, if it cannot be reached.
///
/// # Errors
/// No source was found, or no peer could be asked.
pub(super) async fn sources(
    config: &Config,
    wanted: &mut RequestedFile,
    (peers, lan): (&[String], bool),
    voice: Voice,
) -> Result<Option<MeetLink>, Failure> {
    let Some(sha1) = wanted.sha1 else { return Ok(None) };
    let words = format!("urn:sha1:{sha1}");
    voice.note(
        &json!({ "event": "looking", "urn": words }),
        &format!("asking the overlay for {words}"),
    );
    let (mut found, mut met) = (0, None);
    let mut take = |mut hit: SearchHit, route: HitRoute| {
        let known = hit.push && wanted.push.is_some();
        if hit.sha1 != Some(sha1) || known || !(hit.push || may_dial(hit.at, hit.from)) {
            return Ok(ControlFlow::Continue(()));
        }
        let at = hit.at;
        let url = search::locator(&hit, route.peer);
        if wanted.name.is_none() {
            let leaf = hit.name.rfind('/').map_or(0, |slash| slash + 1);
            wanted.name = Some(hit.name.split_off(leaf));
        }
        // Where no push helps: a servent that cannot be reached, by one that cannot be.
        if let Some(link) = route.link(&hit).filter(|_| met.is_none()) {
            let (urls, mut links) = split_each(&[link])?;
            urls.iter().try_for_each(|url| wanted.add_source(url))?;
            met = links.pop();
        }
        wanted.add_source(&url)?;
        // An address that cannot be reached: a proxy may still reach it.
        if !hit.push && !hit.proxies.is_empty() && wanted.push.is_none() {
            hit.push = true;
            wanted.add_source(&search::locator(&hit, route.peer))?;
        }
        found += 1;
        let told = json!({ "event": "source", "url": url, "at": at });
        voice.note(&told, &format!("{at} has it: {url}"));
        Ok(if found < ENOUGH { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    };
    let asking = Asking { words: words.clone(), peers, lan, quiet: (FIRST, NEXT), voice };
    match search::ask(config, asking, &mut take).await? {
        SearchEnd::Stopped => {
            Err(Failure::new(Exit::Interrupted, "stopped before a source was found"))
        }
        _ if found == 0 => Err(Failure::new(Exit::Network, format!("no servent has {words}"))
            .next("name a servent that has it: HOST:PORT, or another part of the overlay: --peer")),
        _ => Ok(met),
    }
}
