//! What is shown of a node.
#![allow(missing_docs)] // The fields are named by what they hold.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use serde::Serialize;
use servent_core::meet::NatMapping;
use servent_core::time::Instant;
use servent_core::trace::NodeId;

use super::host::{MeetHost, MeetOutcome};
use super::router::{Filtering, Mapping};
use super::world::MeetWorld;

/// A node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum MeetNodeView {
    /// A person.
    Person {
        local: SocketAddr,
        /// The node of the router.
        behind: Option<NodeId>,
        /// The other person.
        other: Option<NodeId>,
        came: bool,
        outcome: MeetOutcome,
        /// How the meeting place sees this person, and how the router maps.
        seen: Option<SocketAddr>,
        mapping: Option<NatMapping>,
        /// Where the other side is reached.
        path: Option<SocketAddr>,
        wrote: u64,
        read: u64,
    },
    /// A router.
    Router {
        outside: IpAddr,
        mapping: Mapping,
        filtering: Filtering,
        hairpin: bool,
        /// The length of a mapping that is not used.
        timeout: servent_core::time::Duration,
        rows: Vec<MappingView>,
    },
    /// The meeting place.
    Place { at: SocketAddr, meetings: u64, relayed: u64, introduced: u64, relayed_bytes: u64 },
}

/// An entry of a router's table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MappingView {
    pub inside: SocketAddr,
    pub outside: SocketAddr,
    /// The only destination it is for.
    pub only: Option<SocketAddr>,
    /// Where its host has sent datagrams.
    pub written: BTreeSet<SocketAddr>,
    pub expires: Instant,
}

impl MeetWorld {
    /// What is shown of a node; `None` while it is down.
    ///
    /// # Panics
    /// When there is no such node.
    #[must_use]
    pub fn look(&self, node: NodeId) -> Option<MeetNodeView> {
        let scenario = self.scenario();
        Some(match self.node(node)? {
            MeetHost::Person(_) => {
                let (site, person) = (self.site(node), &scenario.people[node.0 as usize]);
                let pair = scenario.pair_of(node.0);
                MeetNodeView::Person {
                    local: scenario.local(node.0),
                    behind: person.behind.map(|it| NodeId(scenario.router_node(it))),
                    other: pair.and_then(|(_, pair)| pair.other(node.0)).map(NodeId),
                    came: site.came,
                    outcome: site.outcome,
                    seen: site.located.map(|(seen, _)| seen),
                    mapping: site.located.map(|(_, mapping)| mapping),
                    path: site.path,
                    wrote: site.wrote,
                    read: site.read,
                }
            }
            MeetHost::Router(router) => MeetNodeView::Router {
                outside: router.outside,
                mapping: router.kind.mapping,
                filtering: router.kind.filtering,
                hairpin: router.kind.hairpin,
                timeout: router.kind.timeout,
                rows: router
                    .table()
                    .iter()
                    .map(|row| MappingView {
                        inside: row.inside,
                        outside: row.outside,
                        only: row.only,
                        written: row.written.clone(),
                        expires: row.last + router.kind.timeout,
                    })
                    .collect(),
            },
            MeetHost::Place(nodes) => {
                let counters = nodes[0].meetings().unwrap_or_default();
                MeetNodeView::Place {
                    at: super::Scenario::place_at(0),
                    meetings: counters.meetings,
                    relayed: counters.relayed,
                    introduced: counters.introduced,
                    relayed_bytes: counters.relayed_bytes,
                }
            }
        })
    }
}
