//! Where clients meet us that no push helps: a place that the user named, or one that a
//! neighbour runs beside what it shares (PA-16).

use alloc::collections::BTreeSet;
use core::net::SocketAddr;

use super::OverlayService;
use crate::address::may_dial;
use crate::id::ConnId;
use crate::node::cx::NodeCx;
use crate::node::{NodeAnswer, Output};
use crate::wire::gnutella::HitMeeting;

/// Where we are met.
#[derive(Debug, Clone, Default)]
pub(super) struct OverlayMeeting {
    /// What our hits say.
    pub(super) hits: Option<HitMeeting>,
    /// The port of the place that we run ourselves.
    pub(super) port: Option<u16>,
    /// The place of a neighbour that the host was told of.
    told: Option<SocketAddr>,
    /// Those of neighbours that did not answer it, since one was tried again.
    silent: BTreeSet<SocketAddr>,
}

impl OverlayService {
    /// A neighbour has said at which port its meeting place is.
    pub(super) fn note_place(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, port: Option<u16>) {
        let Some(peer) = cx.io.get(conn).map(|state| state.peer.ip().to_canonical()) else {
            return;
        };
        let place = port.map(|port| SocketAddr::new(peer, port));
        if let Some(wire) = self.wires.get_mut(&conn) {
            wire.place = place.filter(|at| may_dial(*at, peer));
        }
        self.tell_place(cx);
    }

    /// Tells the host where others can meet us, when they cannot connect to us and the user
    /// has named no place.
    pub(super) fn tell_place(&mut self, cx: &mut NodeCx<'_>) {
        let named = self.meeting.hits.is_some() && self.meeting.told.is_none();
        if named || !self.is_walled(cx) {
            return;
        }
        let places = || self.wires.values().filter_map(|wire| wire.place);
        if self.meeting.told.is_some_and(|told| places().any(|place| place == told)) {
            return;
        }
        if let Some(at) = next_place(places(), &self.meeting.silent) {
            self.tell_of(at, cx);
        }
    }

    /// The place that was told does not answer the host: tells it that of another neighbour.
    /// When none has answered all are tried again.
    pub(super) fn other_place(&mut self, cx: &mut NodeCx<'_>) {
        let Some(told) = self.meeting.told.filter(|_| self.is_walled(cx)) else { return };
        let places: BTreeSet<SocketAddr> =
            self.wires.values().filter_map(|wire| wire.place).collect();
        let silent = &mut self.meeting.silent;
        silent.insert(told);
        silent.retain(|at| places.contains(at));
        if silent.len() == places.len() {
            silent.clear();
        }
        let others = places.iter().copied().filter(|at| *at != told);
        if let Some(at) = next_place(others, silent) {
            self.tell_of(at, cx);
        }
    }

    fn tell_of(&mut self, at: SocketAddr, cx: &mut NodeCx<'_>) {
        self.meeting.told = Some(at);
        cx.fx.output(Output::Answer(NodeAnswer::Place { at }));
    }
}

/// The place to be tried next: one that has answered, or was not asked, before all others.
fn next_place(
    mut places: impl Iterator<Item = SocketAddr> + Clone,
    silent: &BTreeSet<SocketAddr>,
) -> Option<SocketAddr> {
    places.clone().find(|at| !silent.contains(at)).or_else(|| places.next())
}
