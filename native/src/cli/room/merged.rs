//! What the recordings of a room say together, and none of them alone: whether every
//! hit that arrived somewhere answers a query that a servent has received.

use serde_json::{Value, json};
use servent_core::id::Guid;
use servent_core::time::Instant;
use servent_core::trace::players::Players;
use servent_sim::routing::{ObservedOverlay, unasked};

use crate::cli::print;
use crate::exit::Failure;

/// The most hits without a query that are named.
const NAMED: usize = 20;

/// The hits of all recordings.
pub(super) struct Merged {
    hits: usize,
    /// Those whose query is in no recording: in which recording, when, and for which query.
    unasked: Vec<(usize, Instant, Guid)>,
}

impl Merged {
    /// Of the recordings in a file.
    pub(super) fn from_recording(recording: &[u8]) -> Self {
        let mut players = Players::default();
        players.append(recording);
        let tapes: Vec<ObservedOverlay> =
            players.all().iter().map(ObservedOverlay::from_player).collect();
        let (hits, unasked) = unasked(&tapes);
        Self { hits, unasked }
    }

    /// As a sentence, and one for every hit without its query. `names` are those of
    /// the recordings.
    pub(super) fn print(&self, names: &[String]) -> Result<(), Failure> {
        let Self { hits, unasked } = self;
        if *hits > 0 {
            print(format!("{} of {hits} hits have their query\n", hits - unasked.len()))?;
        }
        for (tape, at, query) in unasked.iter().take(NAMED) {
            let name = names.get(*tape).map_or("?", String::as_str);
            let at = at.as_micros() / 1_000_000;
            print(format!(
                "{name}: at second {at} a hit for {query}, a query that is in no recording\n"
            ))?;
        }
        if unasked.len() > NAMED {
            print(format!("and {} more\n", unasked.len() - NAMED))?;
        }
        Ok(())
    }

    /// The same for programs.
    pub(super) fn json(&self) -> Value {
        let one = |(tape, at, query): &(usize, Instant, Guid)| json!({ "node": tape, "at": at, "query": query });
        let unasked: Vec<Value> = self.unasked.iter().map(one).collect();
        json!({ "hits": self.hits, "unasked": unasked })
    }
}
