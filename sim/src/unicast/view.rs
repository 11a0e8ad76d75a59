//! The state shown beside a lifeline: HA, HS and the windows of a node.

use alloc::string::String;
use alloc::vec::Vec;
use core::net::SocketAddr;

use serde::Serialize;

use super::world::UnicastWorld;
use servent_core::time::Duration;
use servent_core::trace::NodeId;
use servent_core::unicast::{
    Endpoint, PeerView, ReceiverView, SenderView, UnicastConnId, WindowView,
};

/// The most numbers of a receive window that are listed.
const BITS: usize = 256;
/// The most missing ranges that are listed.
const RANGES: usize = 64;

/// A node and its connections.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Margins {
    /// The node.
    pub node: NodeId,
    /// It is running.
    pub up: bool,
    /// It is stalled.
    pub stalled: bool,
    /// The nodes it has connections with.
    pub peers: Vec<Margin>,
}

/// The connections with one other node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[allow(missing_docs)] // The fields are named by what they hold.
pub struct Margin {
    pub peer: NodeId,
    pub name: String,
    pub rtt: Duration,
    pub rto: Duration,
    pub sender: Option<Sending>,
    pub receiver: Option<Receiving>,
}

/// OPEN or CLOSING; a CLOSED entry is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum State {
    Open,
    Closing,
}

/// The sending half.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct Sending {
    pub conn: UnicastConnId,
    pub state: State,
    pub ha: u64,
    pub hs: u64,
    pub last: u64,
    pub limit: u64,
    pub kept_bytes: u64,
    pub flight_bytes: u64,
    /// What congestion control allows, if there is one: bytes under way, and
    /// bytes a second.
    pub allowed_bytes: Option<u64>,
    pub allowed_rate: Option<u64>,
}

/// The receiving half.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct Receiving {
    pub conn: UnicastConnId,
    pub state: State,
    pub next: u64,
    pub newest: u64,
    pub window: SequenceWindow,
    pub missing: Vec<(u64, u64)>,
    pub missing_count: u64,
    pub held_bytes: u64,
    pub untaken_messages: u64,
    pub untaken_bytes: u64,
}

/// Sequence numbers from `from` on: `1` has arrived, `0` has not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct SequenceWindow {
    pub from: u64,
    pub bits: String,
}

const fn state(closing: bool) -> State {
    if closing { State::Closing } else { State::Open }
}

impl From<SenderView> for Sending {
    fn from(view: SenderView) -> Self {
        Self {
            conn: view.conn,
            state: state(view.closing),
            ha: view.highest_acked,
            hs: view.highest_sent,
            last: view.last,
            limit: view.limit,
            kept_bytes: view.bytes,
            flight_bytes: view.flight,
            allowed_bytes: view.window,
            allowed_rate: view.rate,
        }
    }
}

fn receiving(view: ReceiverView, window: WindowView) -> Receiving {
    let bits = window.here.iter().map(|here| if *here { '1' } else { '0' }).collect();
    let mut missing = window.missing;
    missing.truncate(RANGES);
    Receiving {
        conn: view.conn,
        state: state(view.closing),
        next: view.next,
        newest: view.newest,
        window: SequenceWindow { from: window.from, bits },
        missing,
        missing_count: view.missing,
        held_bytes: view.held,
        untaken_messages: view.untaken_messages,
        untaken_bytes: view.untaken_bytes,
    }
}

impl UnicastWorld {
    /// The state shown beside a node's lifeline; `None` when there is no such
    /// node.
    #[must_use]
    #[doc(hidden)]
    pub fn margins(&self, node: NodeId) -> Option<Margins> {
        let slot = self.nodes.get(node.0 as usize)?;
        let (up, stalled) = (slot.engine.is_some(), slot.stalled.is_some());
        let endpoint = slot.engine.as_ref().and_then(|node| node.datagrams());
        let peers = endpoint.map_or_else(Vec::new, |endpoint| {
            margins(endpoint, |at| {
                let peer = self.node_at(at)?;
                Some((peer, self.scenario().nodes[peer.0 as usize].name.clone()))
            })
        });
        Some(Margins { node, up, stalled, peers })
    }
}

/// The connections of an endpoint with the nodes that are known.
pub fn margins(
    endpoint: &Endpoint,
    known: impl Fn(SocketAddr) -> Option<(NodeId, String)>,
) -> Vec<Margin> {
    let margin = |PeerView { peer: at, rtt, rto, sender, receiver }: PeerView| {
        let (peer, name) = known(at)?;
        let receiver = receiver.zip(endpoint.window(at, BITS));
        let receiver = receiver.map(|(view, window)| receiving(view, window));
        Some(Margin { peer, name, rtt, rto, sender: sender.map(Sending::from), receiver })
    };
    endpoint.view().into_iter().filter_map(margin).collect()
}
