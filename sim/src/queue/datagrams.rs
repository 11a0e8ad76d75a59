//! Datagrams between servents.

use alloc::vec::Vec;

use super::world::{Guest, Queue, QueuePlan};
use crate::links::datagram::{DatagramLink, Direction};
use crate::world::World;
use bytes::Bytes;
use core::net::SocketAddr;
use servent_core::node::{Input, MessageCommand, MessageInput, NodeCommand, UnicastMessage};
use servent_core::trace::{NodeId, RecordCause};
use servent_core::unicast::MessageRefusal;

/// A datagram in transit.
#[derive(Debug, Clone)]
pub(super) struct QueueFlight {
    to: u32,
    from: SocketAddr,
    data: Bytes,
    cause: RecordCause,
}

impl<N: Guest> World<Queue<N>> {
    /// Sends datagrams: each `segment` long, the last one possibly shorter.
    pub(super) fn fly(
        &mut self,
        host: u32,
        to: SocketAddr,
        (segment, mut data): (u32, Bytes),
        cause: RecordCause,
    ) {
        let now = self.now();
        let Some(target) = self.net.plan.addresses.get(&to.ip()).copied() else { return };
        let profile = self.net.plan.profile(host);
        let (from, way) = (profile.at, profile.latency + self.net.plan.profile(target).latency);
        while !data.is_empty() {
            let one = data.split_to((segment.max(1) as usize).min(data.len()));
            let net = &mut self.net;
            let dice =
                || net.plan.dice.fork("datagrams", u64::from(host) << 32 | u64::from(target));
            let direction =
                net.directions.entry((host, target)).or_insert_with(|| Direction::new(dice()));
            let fate = direction.send(&net.datagrams, now, one.len() as u32);
            if fate.loss.is_some() {
                continue;
            }
            for at in [Some(fate.due), fate.copy].into_iter().flatten() {
                // In transit it keeps only its own bytes alive, not the whole
                // batch.
                let data = Bytes::copy_from_slice(&one);
                let flight = QueueFlight { to: target, from, data, cause };
                let number = self.net.launched;
                self.net.launched += 1;
                self.net.flights.insert(number, flight);
                self.plan(at + way, QueuePlan::Datagram { number });
            }
        }
    }

    /// A datagram arrives.
    pub(super) fn land(&mut self, number: u64) {
        let Some(QueueFlight { to, from, data, cause }) = self.net.flights.remove(&number) else {
            return;
        };
        let segment = data.len() as u32;
        self.give(to, Input::Messages(MessageInput::Datagrams { from, segment, data }), cause);
    }

    /// Messages were delivered: the application reads them at once.
    pub(super) fn read(&mut self, host: u32, from: SocketAddr, messages: Vec<UnicastMessage>) {
        let bytes = messages.iter().map(|message| message.data.len() as u64).sum();
        let taken = NodeCommand::Messages(MessageCommand::Taken {
            from,
            messages: messages.len() as u64,
            bytes,
        });
        let delivered = &mut self.own_mut(host).delivered;
        delivered.extend(messages.into_iter().map(|message| message.data));
        self.give(host, Input::Command(taken), None);
    }

    /// Sends a message, after those that wait for room.
    pub(crate) fn send_message(&mut self, host: u32, to: NodeId, message: UnicastMessage) {
        let to = self.net.plan.profile(to.0).at;
        if let Some(unsent) = self.own_mut(host).unsent.get_mut(&to) {
            return unsent.push(message);
        }
        let messages = alloc::vec![message];
        self.give(
            host,
            Input::Command(NodeCommand::Messages(MessageCommand::Send { to, messages })),
            None,
        );
    }

    /// What did not fit waits until there is room. A message that can never be
    /// sent is a mistake of the caller.
    pub(super) fn refused(
        &mut self,
        host: u32,
        to: SocketAddr,
        (messages, why): (Vec<UnicastMessage>, MessageRefusal),
    ) {
        let name = &self.net.plan.profile(host).name;
        assert!(why == MessageRefusal::Full, "{name} cannot send to {to}: {why:?}");
        self.own_mut(host).unsent.entry(to).or_default().extend(messages);
    }

    /// There is room again.
    pub(super) fn write_again(&mut self, host: u32, to: SocketAddr) {
        if let Some(messages) = self.own_mut(host).unsent.remove(&to) {
            self.give(
                host,
                Input::Command(NodeCommand::Messages(MessageCommand::Send { to, messages })),
                None,
            );
        }
    }

    /// The messages delivered to a node so far.
    pub(crate) fn delivered(&self, node: NodeId) -> &[Bytes] {
        &self.own(node.0).delivered
    }

    /// Sets what happens to datagrams from now on.
    pub(crate) fn set_datagrams(&mut self, link: DatagramLink) {
        self.net.datagrams = link;
    }
}
