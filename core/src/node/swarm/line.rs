//! The connection to the coordinator that we are a client of.

use alloc::vec::Vec;
use core::net::SocketAddr;

use super::cx::SwarmCx;
use super::peers::{PeerLink, Role, SwarmPeers};
use crate::id::ConnId;

/// The addresses of the coordinator, and the state of the connection to it.
#[derive(Debug, Clone)]
pub(super) struct CoordinatorLine {
    /// Those that the user named, tried in order.
    pub(super) at: Vec<SocketAddr>,
    /// Others that a coordinator named, tried after these.
    others: Vec<SocketAddr>,
    state: State,
    /// It has been connected before.
    pub(super) was_up: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Down,
    /// The address with this index is being tried; `None`: where a coordinator
    /// has sent us.
    Dialing(ConnId, Option<usize>),
    Up(ConnId),
}

/// What a lost connection means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// It was not the connection to the coordinator.
    No,
    /// The next address is being tried.
    Trying,
    /// The coordinator cannot be reached.
    Down,
}

impl CoordinatorLine {
    pub(super) const fn new() -> Self {
        Self { at: Vec::new(), others: Vec::new(), state: State::Down, was_up: false }
    }

    /// The connection, when it is open.
    pub(super) const fn up(&self) -> Option<ConnId> {
        match self.state {
            State::Up(conn) => Some(conn),
            State::Down | State::Dialing(..) => None,
        }
    }

    /// Tries the addresses; false when there are none.
    pub(super) fn connect(&mut self, peers: &mut SwarmPeers, cx: &mut SwarmCx<'_>) -> bool {
        self.try_from(0, peers, cx)
    }

    fn try_from(&mut self, first: usize, peers: &mut SwarmPeers, cx: &mut SwarmCx<'_>) -> bool {
        let named = self.at.len();
        for (number, to) in self.at.iter().chain(&self.others).enumerate().skip(first) {
            let dialed = if number < named { cx.dial(*to) } else { cx.dial_for_stranger(*to) };
            if let Some(conn) = dialed {
                peers.insert(conn, Role::Coordinator(PeerLink::default()));
                self.state = State::Dialing(conn, Some(number));
                return true;
            }
        }
        self.state = State::Down;
        false
    }

    /// Where else a coordinator answers.
    pub(super) fn beside(&mut self, mut others: Vec<SocketAddr>) {
        others.retain(|at| !self.at.contains(at));
        self.others = others;
    }

    /// Hangs up, and goes where the coordinator has sent us; false when we do not
    /// go anywhere.
    pub(super) fn leave(
        &mut self,
        to: Option<SocketAddr>,
        peers: &mut SwarmPeers,
        cx: &mut SwarmCx<'_>,
    ) -> bool {
        if let Some(conn) = self.up() {
            peers.remove(conn);
            cx.close(conn, true, "another coordinator has the file");
        }
        self.state = State::Down;
        let Some(to) = to else { return false };
        let dialed = if self.at.contains(&to) { cx.dial(to) } else { cx.dial_for_stranger(to) };
        let Some(conn) = dialed else { return false };
        peers.insert(conn, Role::Coordinator(PeerLink::default()));
        self.state = State::Dialing(conn, None);
        true
    }

    /// A dial succeeded; true when it was the one to the coordinator.
    pub(super) fn dialed(&mut self, conn: ConnId) -> bool {
        let ours = matches!(self.state, State::Dialing(dialed, _) if dialed == conn);
        if ours {
            (self.state, self.was_up) = (State::Up(conn), true);
        }
        ours
    }

    /// A connection was lost, or a dial failed.
    pub(super) fn lost(
        &mut self,
        conn: ConnId,
        peers: &mut SwarmPeers,
        cx: &mut SwarmCx<'_>,
    ) -> Lost {
        match self.state {
            State::Dialing(dialed, None) if dialed == conn => {
                self.state = State::Down;
                Lost::Down
            }
            State::Dialing(dialed, Some(number)) if dialed == conn => {
                if self.try_from(number + 1, peers, cx) { Lost::Trying } else { Lost::Down }
            }
            State::Up(up) if up == conn => {
                self.state = State::Down;
                Lost::Down
            }
            _ => Lost::No,
        }
    }
}
