//! What must survive a reload, as rows of text: a change of the node is the row
//! of that name, and what it takes back is no row.

use servent_core::id::FetchId;
use servent_core::node::{Op, Restored};

/// The row that a change is about, and its new content; `None` for a change of
/// what no page has.
pub(super) fn row(op: &Op) -> Option<(String, Option<String>)> {
    let key = match op {
        Op::Servent(_) => "servent".to_owned(),
        Op::Queue(row) => format!("queue/{}", row.ticket),
        Op::QueueGone(ticket) => return Some((format!("queue/{ticket}"), None)),
        Op::Fetch(row) => format!("fetch/{}", row.fetch.0),
        Op::FetchGone(fetch) => return Some((format!("fetch/{}", fetch.0), None)),
        Op::Host(row) => format!("host/{}", row.at),
        Op::HostGone(at) => return Some((format!("host/{at}"), None)),
        Op::Paused(FetchId(fetch), true) => format!("paused/{fetch}"),
        Op::Paused(FetchId(fetch), false) => return Some((format!("paused/{fetch}"), None)),
        // Pieces are not checked here, and there are no swarms.
        Op::Tree(..) | Op::Swarm(_) => return None,
    };
    serde_json::to_string(op).ok().map(|text| (key, Some(text)))
}

/// What the rows remember. One that cannot be read is forgotten.
pub(super) fn restored(rows: &[(String, String)]) -> Restored {
    let mut restored = Restored::default();
    for (_, text) in rows {
        match serde_json::from_str(text) {
            Ok(Op::Servent(servent)) => restored.servent = Some(servent),
            Ok(Op::Queue(row)) => restored.queue.push(row),
            Ok(Op::Fetch(row)) => restored.fetches.push((*row).clone()),
            Ok(Op::Host(row)) => restored.hosts.push(row),
            Ok(Op::Paused(fetch, _)) => restored.paused.push(fetch),
            _ => {}
        }
    }
    restored.queue.sort_by_key(|row| row.arrival);
    restored.fetches.sort_by_key(|row| row.fetch);
    restored
}
