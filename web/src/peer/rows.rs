//! What must survive a reload, as rows of text: a change of the node is the row
//! of that name, and what it takes back is no row.

use servent_core::id::FetchId;
use servent_core::node::{NodeOp, RestoredNode};

/// The row that a change is about, and its new content; `None` for a change of
/// what no page has.
pub(super) fn row(op: &NodeOp) -> Option<(String, Option<String>)> {
    let key = match op {
        NodeOp::Servent(_) => "servent".to_owned(),
        NodeOp::Queue(row) => format!("queue/{}", row.ticket),
        NodeOp::QueueGone(ticket) => return Some((format!("queue/{ticket}"), None)),
        NodeOp::Fetch(row) => format!("fetch/{}", row.fetch.0),
        NodeOp::FetchGone(fetch) => return Some((format!("fetch/{}", fetch.0), None)),
        NodeOp::Host(row) => format!("host/{}", row.at),
        NodeOp::HostGone(at) => return Some((format!("host/{at}"), None)),
        NodeOp::Paused(FetchId(fetch), true) => format!("paused/{fetch}"),
        NodeOp::Paused(FetchId(fetch), false) => return Some((format!("paused/{fetch}"), None)),
        // Pieces are not checked here, and there are no swarms.
        NodeOp::Tree(..) | NodeOp::Swarm(_) => return None,
    };
    serde_json::to_string(op).ok().map(|text| (key, Some(text)))
}

/// What the rows remember. One that cannot be read is forgotten.
pub(super) fn restored(rows: &[(String, String)]) -> RestoredNode {
    let mut restored = RestoredNode::default();
    for (_, text) in rows {
        match serde_json::from_str(text) {
            Ok(NodeOp::Servent(servent)) => restored.servent = Some(servent),
            Ok(NodeOp::Queue(row)) => restored.queue.push(row),
            Ok(NodeOp::Fetch(row)) => restored.fetches.push((*row).clone()),
            Ok(NodeOp::Host(row)) => restored.hosts.push(row),
            Ok(NodeOp::Paused(fetch, _)) => restored.paused.push(fetch),
            _ => {}
        }
    }
    restored.queue.sort_by_key(|row| row.arrival);
    restored.fetches.sort_by_key(|row| row.fetch);
    restored
}
