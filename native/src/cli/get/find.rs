//! Finding sources for a file of which only the hash is known.

use std::ops::ControlFlow;
use std::time::Duration;

use serde_json::json;
use servent_core::address::may_dial;
use servent_core::node::SearchHit;

use super::source::RequestedFile;
use crate::cli::search::{self, Asking, SearchEnd};
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
/// a name is known.
///
/// # Errors
/// No source was found, or no peer could be asked.
pub(super) async fn sources(
    config: &Config,
    wanted: &mut RequestedFile,
    (peers, lan): (&[String], bool),
    voice: Voice,
) -> Result<(), Failure> {
    let Some(sha1) = wanted.sha1 else { return Ok(()) };
    let words = format!("urn:sha1:{sha1}");
    voice.note(
        &json!({ "event": "looking", "urn": words }),
        &format!("asking the overlay for {words}"),
    );
    let mut found = 0;
    let mut take = |mut hit: SearchHit, through| {
        let known = hit.push && wanted.push.is_some();
        if hit.sha1 != Some(sha1) || known || !(hit.push || may_dial(hit.at, hit.from)) {
            return Ok(ControlFlow::Continue(()));
        }
        let at = hit.at;
        let url = search::locator(&hit, through);
        if wanted.name.is_none() {
            let leaf = hit.name.rfind('/').map_or(0, |slash| slash + 1);
            wanted.name = Some(hit.name.split_off(leaf));
        }
        wanted.add_source(&url)?;
        // An address that cannot be reached: a proxy may still reach it.
        if !hit.push && !hit.proxies.is_empty() && wanted.push.is_none() {
            hit.push = true;
            wanted.add_source(&search::locator(&hit, through))?;
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
        _ => Ok(()),
    }
}
