//! Two hosts and the wires between them, moved one byte at a time.

use std::collections::BTreeSet;

use servent_core::engine::{Engine, Fx};
use servent_core::id::ConnId;
use servent_core::node::{ConnInput, DialError, Input};
use servent_core::time::Duration;

use super::Host;

/// Two hosts, reached at two addresses.
pub(crate) struct Pair {
    pub(crate) a: Host,
    pub(crate) b: Host,
    /// How many bytes one step moves at most.
    pub(crate) chunk: usize,
    at: [&'static str; 2],
    links: Vec<Link>,
}

/// A connection: its number at either end.
#[derive(Clone, Copy)]
struct Link {
    a: ConnId,
    b: ConnId,
    open: bool,
}

impl Pair {
    pub(crate) fn new(a: Host, b: Host) -> Self {
        Self { a, b, chunk: 1, at: ["1.1.1.1:6346", "2.2.2.2:6346"], links: Vec::new() }
    }

    /// Moves one dial, one chunk of bytes or one hang-up; when nothing moves,
    /// the time to the next timer. False when there is nothing to do before
    /// `horizon` from the start of the call.
    pub(crate) fn step(&mut self, horizon: Duration) -> bool {
        self.dial() || self.carry() || self.hang_up() || self.tick(horizon)
    }

    fn dial(&mut self) -> bool {
        for from_a in [true, false] {
            let [addr_a, addr_b] = self.at;
            let (from, to, own, other) = if from_a {
                (&mut self.a, &mut self.b, addr_a, addr_b)
            } else {
                (&mut self.b, &mut self.a, addr_b, addr_a)
            };
            let Some((conn, wanted)) = from.dials.pop() else { continue };
            if wanted != other.parse().unwrap() {
                from.input(Input::Connection(
                    conn,
                    ConnInput::DialFailed { why: DialError::Unreachable },
                ));
                return true;
            }
            let far = to.accept(&own.replace(":6346", ":50000"));
            from.input(Input::Connection(
                conn,
                ConnInput::Dialed { local: own.replace(":6346", ":50000").parse().unwrap() },
            ));
            let (a, b) = if from_a { (conn, far) } else { (far, conn) };
            self.links.push(Link { a, b, open: true });
            return true;
        }
        false
    }

    fn carry(&mut self) -> bool {
        for link in self.links.iter().filter(|l| l.open) {
            if move_some(&mut self.a, &mut self.b, link.a, link.b, self.chunk)
                || move_some(&mut self.b, &mut self.a, link.b, link.a, self.chunk)
            {
                return true;
            }
        }
        false
    }

    fn hang_up(&mut self) -> bool {
        for link in self.links.iter_mut().filter(|l| l.open) {
            let (by_a, by_b) = (self.a.hung_up.contains(&link.a), self.b.hung_up.contains(&link.b));
            if by_a || by_b {
                link.open = false;
                if !by_a {
                    self.a.input(Input::Connection(link.a, ConnInput::Closed));
                }
                if !by_b {
                    self.b.input(Input::Connection(link.b, ConnInput::Closed));
                }
                return true;
            }
        }
        false
    }

    fn tick(&mut self, horizon: Duration) -> bool {
        let next = [self.a.node.poll_timeout(), self.b.node.poll_timeout()];
        let Some((at, _)) = next.into_iter().flatten().min_by_key(|(at, _)| *at) else {
            return false;
        };
        if at > self.a.now + horizon {
            return false;
        }
        for host in [&mut self.a, &mut self.b] {
            host.now = host.now.max(at);
            if host.node.poll_timeout().is_some_and(|(at, _)| at <= host.now) {
                host.wake(&mut Fx::new());
            }
        }
        true
    }

    /// Steps until nothing more happens within `horizon` or `done` says so.
    pub(crate) fn run_until(&mut self, horizon: Duration, done: impl Fn(&Self) -> bool) {
        for _ in 0..2_000_000 {
            if done(self) || !self.step(horizon) {
                return;
            }
        }
        panic!("no end in sight");
    }

    /// Cuts every wire.
    pub(crate) fn cut(&mut self) {
        let cut: BTreeSet<(ConnId, ConnId)> =
            self.links.iter().filter(|l| l.open).map(|l| (l.a, l.b)).collect();
        self.links.clear();
        for (a, b) in cut {
            self.a.input(Input::Connection(a, ConnInput::Closed));
            self.b.input(Input::Connection(b, ConnInput::Closed));
        }
    }
}

fn move_some(from: &mut Host, to: &mut Host, out: ConnId, into: ConnId, most: usize) -> bool {
    let Some(wire) = from.wire.get_mut(&out).filter(|w| !w.is_empty()) else { return false };
    let some: Vec<u8> = wire.drain(..most.min(wire.len())).collect();
    if !to.hung_up.contains(&into) {
        to.bytes(into, &some);
    }
    true
}
