//! The way of a datagram: out of its sender's router, through the network, and into
//! that of its receiver.

use core::net::SocketAddr;

use servent_core::time::{Duration, Instant};
use servent_core::trace::{NodeId, RecordCause};
use servent_core::unicast::UnicastPayload;
use servent_core::wire::meet::{KnockStep, is_of_chosen_path};

use super::event::{Event, PacketEvent, PacketKind, RouterEvent};
use super::host::{AtPort, HearingSocket, MeetHost};
use super::router::{LeftRouter, Mapping, NatRouter, RouterDrop};
use super::scenario::Scenario;
use super::world::{MeetPlan, MeetWorld, SPREAD, datagrams};
use crate::links::datagram::DatagramLoss;

/// How long a datagram takes within one network.
const NEAR: Duration = Duration::from_micros(200);

/// Datagrams of one sender to one address that are under way.
#[derive(Debug, Clone)]
pub struct FlyingDatagrams {
    id: u32,
    sender: NodeId,
    /// The address that others see as their sender.
    seen: SocketAddr,
    to: SocketAddr,
    /// The node at which they arrive.
    toward: u32,
    kind: PacketKind,
    step: Option<KnockStep>,
    segment: u32,
    data: UnicastPayload,
    /// The record of their sending.
    cause: RecordCause,
}

/// Where something that is sent arrives.
enum Destination {
    /// At a host, after so long.
    Host(u32, Duration),
    /// At a host in the same network.
    Near(u32),
    /// At a router's outer address, after so long.
    Router(u32, Duration),
    /// No node has this address.
    Nowhere,
}

impl FlyingDatagrams {
    /// Datagrams leave a servent.
    pub(super) fn leave(
        world: &mut MeetWorld,
        node: u32,
        (from, to): (SocketAddr, SocketAddr),
        (segment, data): (u32, UnicastPayload),
        cause: RecordCause,
    ) {
        let router = router_of(world.scenario(), node);
        let destination = find(world.scenario(), node, to);
        let near = matches!(destination, Destination::Near(_));
        let doomed = count(world, node);
        let left = match router.filter(|_| !near) {
            Some(router) => pass_out(world, router, from, to),
            None => Ok(LeftRouter { seen: from, is_new: false, evicted: None }),
        };
        let (toward, takes) = match destination {
            Destination::Host(at, takes) | Destination::Router(at, takes) => (Some(at), takes),
            Destination::Near(at) => (Some(at), NEAR),
            Destination::Nowhere => (None, Duration::ZERO),
        };
        let (kind, step) = PacketKind::read(&data);
        let id = world.net.launched + 1;
        world.net.launched = id;
        let seen = left.map_or(from, |left| left.seen);
        let due = world.now() + takes;
        let sent = PacketEvent::Sent {
            id,
            from,
            seen,
            to,
            toward: toward.map(NodeId),
            due,
            kind,
            step,
            bytes: data.len() as u32,
        };
        let cause = Some(world.note(node, cause, Event::Packet(sent)));
        let toward = toward.unwrap_or(node);
        let sender = NodeId(node);
        let datagrams = Self { id, sender, seen, to, toward, kind, step, segment, data, cause };
        match (left, router) {
            (Err(why), Some(router)) => return datagrams.dropped(world, router, why),
            (Ok(left), Some(router)) => mapped(world, router, from, &left, to, cause),
            _ => {}
        }
        let chance = u64::from(world.scenario().loss);
        let unlucky = !near && world.net.dice.chance(chance, 1_000);
        let unlucky = unlucky.then_some(DatagramLoss::Chance);
        if let Some(why) = doomed.then_some(DatagramLoss::Drop).or(unlucky) {
            let lost = PacketEvent::Lost { id, to, why, kind };
            world.note(node, cause, Event::Packet(lost));
            return;
        }
        match destination {
            Destination::Host(..) | Destination::Near(_) => {
                world.plan(due, MeetPlan::Arrive(datagrams))
            }
            // Its own router, from inside: only one that hairpins returns it.
            Destination::Router(at, _) if Some(at) == router && !hairpins(world, at) => {
                datagrams.dropped(world, at, RouterDrop::Hairpin);
            }
            Destination::Router(..) => world.plan(due, MeetPlan::Enter(datagrams)),
            Destination::Nowhere => {}
        }
    }

    fn dropped(self, world: &mut MeetWorld, router: u32, why: RouterDrop) {
        let Self { id, sender, seen, to, kind, cause, .. } = self;
        let dropped = PacketEvent::Dropped { id, from: seen, to, sender, why, kind };
        world.note(router, cause, Event::Packet(dropped));
    }

    /// They come to a router's outer address.
    pub(super) fn enter(self, world: &mut MeetWorld) {
        let at = self.toward;
        let entered = match &world.slot(at).engine {
            Some(MeetHost::Router(router)) => router.enter(world.now(), self.seen, self.to),
            _ => Err(RouterDrop::Off),
        };
        let inside = match entered {
            Ok(inside) => inside,
            Err(why) => return self.dropped(world, at, why),
        };
        let scenario = world.scenario();
        let people = 0..scenario.people.len() as u32;
        let person = people.into_iter().find(|it| {
            router_of(scenario, *it) == Some(at) && scenario.local(*it).ip() == inside.ip()
        });
        let Some(person) = person else { return self.dropped(world, at, RouterDrop::NoMapping) };
        let hears = &mut world.own_mut(person).hears;
        let chosen = is_of_chosen_path(&self.data);
        let is_new = hears.get(&self.seen).is_none_or(|it| !it.chosen);
        if chosen || inside.port() >= SPREAD && is_new {
            hears.insert(self.seen, HearingSocket { at: inside, chosen });
        }
        Self { toward: person, ..self }.arrive(world);
    }

    /// They arrive at a servent.
    pub(super) fn arrive(self, world: &mut MeetWorld) {
        let Self { id, sender, seen, to, toward, kind, step, segment, data, cause } = self;
        if world.slot(toward).engine.is_none() {
            let lost = PacketEvent::Lost { id, to, why: DatagramLoss::Down, kind };
            world.note(sender.0, cause, Event::Packet(lost));
            return;
        }
        let arrived = PacketEvent::Arrived { id, from: seen, sender, kind, step };
        let cause = Some(world.note(toward, cause, Event::Packet(arrived)));
        let port = usize::from(to == Scenario::place_at(1));
        world.give(toward, AtPort { port, what: datagrams(seen, (segment, data)) }, cause);
    }
}

/// The node of the router before a person.
fn router_of(scenario: &Scenario, node: u32) -> Option<u32> {
    let behind = scenario.people.get(node as usize)?.behind?;
    Some(scenario.router_node(behind))
}

fn find(scenario: &Scenario, node: u32, to: SocketAddr) -> Destination {
    let place = scenario.place();
    let way = |node: u32| if node == place { Duration::ZERO } else { scenario.delay(node) };
    if to == Scenario::place_at(0) || to == Scenario::place_at(1) {
        return Destination::Host(place, way(node));
    }
    let people = scenario.people.len() as u32;
    let near = |other: &u32| node < people && scenario.together(node, *other);
    if let Some(other) = (0..people).find(|it| scenario.local(*it) == to && near(it)) {
        return Destination::Near(other);
    }
    let open = |it: &u32| scenario.people[*it as usize].behind.is_none();
    if let Some(other) = (0..people).filter(open).find(|it| scenario.local(*it) == to) {
        return Destination::Host(other, way(node) + way(other));
    }
    let routers = 0..scenario.routers.len() as u32;
    let found = routers.into_iter().find(|it| Scenario::outside(*it) == to.ip());
    found.map_or(Destination::Nowhere, |it| {
        let takes = way(node) + scenario.routers[it as usize].delay;
        Destination::Router(scenario.router_node(it), takes)
    })
}

fn router_mut(world: &mut MeetWorld, router: u32) -> Option<&mut NatRouter> {
    match &mut world.slot_mut(router).engine {
        Some(MeetHost::Router(router)) => Some(router),
        _ => None,
    }
}

fn hairpins(world: &MeetWorld, router: u32) -> bool {
    matches!(&world.slot(router).engine, Some(MeetHost::Router(it)) if it.kind.hairpin)
}

fn pass_out(
    world: &mut MeetWorld,
    router: u32,
    from: SocketAddr,
    to: SocketAddr,
) -> Result<LeftRouter, RouterDrop> {
    let now: Instant = world.now();
    let left = router_mut(world, router).ok_or(RouterDrop::Off)?.leave(now, from, to);
    world.arm(router);
    left
}

/// Records what has changed in a router's table.
fn mapped(
    world: &mut MeetWorld,
    router: u32,
    inside: SocketAddr,
    left: &LeftRouter,
    to: SocketAddr,
    cause: RecordCause,
) {
    let outside = left.seen;
    if let Some(evicted) = left.evicted {
        let evicted = RouterEvent::Evicted { inside: evicted, outside };
        world.note(router, cause, Event::Router(evicted));
    }
    if left.is_new {
        let kind = world.slot(router).engine.as_ref();
        let varies = matches!(kind, Some(MeetHost::Router(it)) if it.kind.mapping == Mapping::EndpointDependent);
        let mapped = RouterEvent::Mapped { inside, outside, only: varies.then_some(to) };
        world.note(router, cause, Event::Router(mapped));
    }
}

/// Counts a datagram of a node; true when a fault has named it.
fn count(world: &mut MeetWorld, node: u32) -> bool {
    let site = world.own_mut(node);
    site.sent += 1;
    site.doomed.remove(&site.sent)
}

impl MeetWorld {
    /// The node that a node means by an address: a person's router stands for the
    /// person it was about.
    pub(super) fn owner(&self, node: NodeId, at: SocketAddr) -> Option<NodeId> {
        let scenario = self.scenario();
        if node.0 == scenario.place() {
            let people = 0..scenario.people.len() as u32;
            let by_router = |it: &u32| {
                let outside = scenario.people[*it as usize].behind.map(Scenario::outside);
                outside.unwrap_or_else(|| scenario.local(*it).ip()) == at.ip()
            };
            let mut here = people.filter(by_router);
            // Of several behind one router it is not known which.
            return here.next().filter(|_| here.next().is_none()).map(NodeId);
        }
        if at.ip() == Scenario::place_at(0).ip() {
            return Some(NodeId(scenario.place()));
        }
        scenario.pair_of(node.0)?.1.other(node.0).map(NodeId)
    }
}
