//! Meetings: the service that joins [`wire::meet`](crate::wire::meet) with a
//! [`MeetPlace`] and a [`MeetVisitor`]. Its datagrams travel on the port of the
//! reliable unicast (PA-10).

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::mem;
use core::net::SocketAddr;

use super::cx::{CrossWish, NodeCx};
use super::service::Service;
use super::{
    ConnInput, Event, MeetAnswer, MeetCommand, MessageOutput, NodeAnswer, NodeEffects, Output,
};
use crate::engine::{Effect, Engine as _, Fx, earlier};
use crate::id::ConnId;
use crate::meet::{
    self, Config, MeetPlace, MeetVisitor, PlaceCounters, PlaceInput, PlaceOutput, VisitInput,
    VisitOutput,
};
use crate::rng::Rng;
use crate::time::Instant;
use crate::unicast::UnicastPayload;
use crate::wire::meet::{MeetPacket, is_meet};

/// Datagrams of one peer that are for another service: their size, and their
/// bytes.
pub(super) type ForeignDatagrams = (u32, UnicastPayload);

/// A place, if it is one, and a visitor.
#[derive(Debug, Clone)]
pub(super) struct Meetings {
    place: Option<MeetPlace>,
    /// What waits at the place, by who sent it.
    held: BTreeMap<SocketAddr, VecDeque<ForeignDatagrams>>,
    visitor: MeetVisitor,
    /// Empty between calls; kept to reuse their memory.
    place_fx: Fx<PlaceOutput, meet::Event>,
    visit_fx: Fx<VisitOutput, meet::Event>,
}

impl Meetings {
    pub(super) fn new(config: &Config, root: &Rng) -> Self {
        let place = || MeetPlace::new(*config, root.fork("meeting place", 0));
        Self {
            place: config.place.then(place),
            held: BTreeMap::new(),
            visitor: MeetVisitor::new(*config, root.fork("visitor", 0)),
            place_fx: Fx::new(),
            visit_fx: Fx::new(),
        }
    }

    /// What the place has done.
    pub(super) fn counters(&self) -> Option<PlaceCounters> {
        self.place.as_ref().map(MeetPlace::counters)
    }

    /// Takes from the datagrams of one peer what is about meetings, or is passed on
    /// for one; returns the rest.
    pub(super) fn sift(
        &mut self,
        cx: &mut NodeCx<'_>,
        (from, segment, data): (SocketAddr, u32, UnicastPayload),
    ) -> Vec<ForeignDatagrams> {
        let size = (segment as usize).max(1);
        let datagrams = (0..data.len()).step_by(size).map(|at| at..data.len().min(at + size));
        if !datagrams.clone().any(|at| is_meet(&data[at])) {
            return self.pass(cx, from, (segment, data)).into_iter().collect();
        }
        let mut rest = Vec::new();
        for at in datagrams {
            let datagram = data.slice(at);
            if is_meet(&datagram) {
                self.packet(cx, from, &datagram);
            } else {
                rest.extend(self.pass(cx, from, (segment, datagram)));
            }
        }
        rest
    }

    fn packet(&mut self, cx: &mut NodeCx<'_>, from: SocketAddr, datagram: &UnicastPayload) {
        let packet = match MeetPacket::parse(datagram) {
            Ok(packet) => packet,
            Err(error) => {
                let event = meet::Event::Malformed { peer: from, error };
                return cx.fx.event(Event::Meet(event));
            }
        };
        let to_place = matches!(
            packet,
            MeetPacket::Question { .. }
                | MeetPacket::Register(_)
                | MeetPacket::Heard { .. }
                | MeetPacket::Leave { .. }
                | MeetPacket::Elsewhere { .. }
                | MeetPacket::Over { .. }
        );
        if !to_place {
            self.visitor.handle(cx.now, VisitInput::Packet { from, packet }, &mut self.visit_fx);
        } else if let Some(place) = &mut self.place {
            let bytes = u32::try_from(datagram.len()).unwrap_or(u32::MAX);
            let input = PlaceInput::Packet { from, packet, bytes };
            place.handle(cx.now, input, &mut self.place_fx);
        }
        self.carry_out(cx, None);
    }

    /// Passes on what belongs to a relayed meeting; anything else comes back.
    fn pass(
        &mut self,
        cx: &mut NodeCx<'_>,
        from: SocketAddr,
        (segment, data): ForeignDatagrams,
    ) -> Option<ForeignDatagrams> {
        let Some(place) = self.place.as_mut().filter(|place| place.relays(from)) else {
            return Some((segment, data));
        };
        let bytes = u32::try_from(data.len()).unwrap_or(u32::MAX);
        place.handle(cx.now, PlaceInput::Foreign { from, segment, bytes }, &mut self.place_fx);
        self.carry_out(cx, Some((segment, data)));
        None
    }

    /// Carries out what both engines want. `passing`: what is being passed on.
    fn carry_out(&mut self, cx: &mut NodeCx<'_>, passing: Option<ForeignDatagrams>) {
        let mut place_fx = mem::take(&mut self.place_fx);
        for effect in place_fx.drain() {
            match effect {
                Effect::Event(event) => cx.fx.event(Event::Meet(event)),
                Effect::Output(PlaceOutput::Packet { to, packet }) => send(to, &packet, cx.fx),
                Effect::Output(PlaceOutput::Elsewhere { to, nonce }) => {
                    let answer = MeetAnswer::Elsewhere { to, nonce };
                    cx.fx.output(Output::Answer(NodeAnswer::Meet(answer)));
                }
                Effect::Output(PlaceOutput::Forward { to, bytes }) => {
                    if let Some((segment, data)) = &passing {
                        let data = data.slice(..data.len().min(bytes as usize));
                        pass_on(to, (*segment, data), cx.fx);
                    }
                }
                Effect::Output(PlaceOutput::Hold { from, skip, bytes }) => {
                    if let Some((segment, data)) = &passing {
                        let [skip, bytes] = [skip, bytes].map(|it| it as usize);
                        // A copy: a slice would keep all that was received with it.
                        let kept = UnicastPayload::copy_from_slice(&data[skip..skip + bytes]);
                        self.held.entry(from).or_default().push_back((*segment, kept));
                    }
                }
                Effect::Output(PlaceOutput::Release { from, to, bytes }) => {
                    self.release(from, to, bytes as usize, cx.fx);
                }
                Effect::Output(PlaceOutput::Discard { from }) => _ = self.held.remove(&from),
            }
        }
        self.place_fx = place_fx;
        let mut visit_fx = mem::take(&mut self.visit_fx);
        for effect in visit_fx.drain() {
            match effect {
                Effect::Event(event) => cx.fx.event(Event::Meet(event)),
                Effect::Output(output) => visit(cx, output),
            }
        }
        self.visit_fx = visit_fx;
    }

    /// Passes on the first so many bytes of what waits of a visitor: of one batch.
    fn release(&mut self, from: SocketAddr, to: SocketAddr, bytes: usize, fx: &mut NodeEffects) {
        let Some(queue) = self.held.get_mut(&from) else { return };
        if let Some((segment, data)) = queue.front_mut() {
            let first = data.slice(..bytes.min(data.len()));
            pass_on(to, (*segment, first), fx);
            *data = data.slice(bytes.min(data.len())..);
            if data.is_empty() {
                queue.pop_front();
            }
        }
        if queue.is_empty() {
            self.held.remove(&from);
        }
    }
}

fn pass_on(to: SocketAddr, (segment, data): ForeignDatagrams, fx: &mut NodeEffects) {
    fx.output(Output::Messages(MessageOutput::Datagrams { to, segment, data }));
}

/// Carries out what a visitor wants.
fn visit(cx: &mut NodeCx<'_>, output: VisitOutput) {
    let answer = match output {
        VisitOutput::Packet { to, packet } => return send(to, &packet, cx.fx),
        VisitOutput::Route { peer, to } => {
            return cx.wishes.push_back(CrossWish::Route { peer, to });
        }
        VisitOutput::Moved { peer, to } => {
            cx.wishes.push_back(CrossWish::Route { peer, to });
            MeetAnswer::Moved { peer, to }
        }
        VisitOutput::Located { place, seen, mapping } => {
            MeetAnswer::Located { place, seen, mapping }
        }
        VisitOutput::Waiting { place } => MeetAnswer::Waiting { place },
        VisitOutput::Introduced { place, seen } => MeetAnswer::Introduced { place, seen },
        VisitOutput::Met { peer, at, relayed, ours, theirs } => {
            MeetAnswer::Met { peer, at, relayed, ours, theirs }
        }
        VisitOutput::Spread { to, sockets, packet } => {
            let knock = UnicastPayload::from(packet.encode());
            MeetAnswer::Spread { to, sockets, knock }
        }
        VisitOutput::Left { peer, why } => MeetAnswer::Left { peer, why },
        VisitOutput::Failed { why, relayed } => MeetAnswer::Failed { why, relayed },
    };
    cx.fx.output(Output::Answer(NodeAnswer::Meet(answer)));
}

fn send(to: SocketAddr, packet: &MeetPacket, fx: &mut NodeEffects) {
    let data = UnicastPayload::from(packet.encode());
    let segment = u32::try_from(data.len()).unwrap_or(u32::MAX);
    fx.output(Output::Messages(MessageOutput::Datagrams { to, segment, data }));
}

/// It has no connections, and is restored from nothing.
impl Service for Meetings {
    type Command = MeetCommand;
    type Restored = ();

    fn restore(&mut self, _: &mut NodeCx<'_>, (): ()) {}

    fn on(&mut self, _: &mut NodeCx<'_>, _: ConnId, _: ConnInput) {}

    fn read(&mut self, _: &mut NodeCx<'_>, _: ConnId) {}

    fn command(&mut self, cx: &mut NodeCx<'_>, command: MeetCommand) {
        let mut visit = |input| {
            self.visitor.handle(cx.now, input, &mut self.visit_fx);
            None
        };
        let to_place = match command {
            MeetCommand::Visit(it) => visit(VisitInput::Begin(it)),
            MeetCommand::End => visit(VisitInput::End),
            MeetCommand::Finish => visit(VisitInput::Finish),
            MeetCommand::Greet { to, nonce } => Some(PlaceInput::Greet { to, nonce }),
            MeetCommand::Lost { at } => Some(PlaceInput::Lost { at }),
            MeetCommand::Close => Some(PlaceInput::Close),
        };
        if let Some((place, input)) = self.place.as_mut().zip(to_place) {
            place.handle(cx.now, input, &mut self.place_fx);
        }
        self.carry_out(cx, None);
    }

    fn handle_timeout(&mut self, cx: &mut NodeCx<'_>) {
        self.visitor.handle_timeout(cx.now, &mut self.visit_fx);
        if let Some(place) = &mut self.place {
            place.handle_timeout(cx.now, &mut self.place_fx);
        }
        self.carry_out(cx, None);
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let place = self.place.as_ref().and_then(|place| place.poll_timeout());
        earlier(place, self.visitor.poll_timeout())
    }
}
