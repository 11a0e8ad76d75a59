//! The connection to the coordinator that we are a client of.

use alloc::vec::Vec;
use core::net::SocketAddr;

use super::cx::Cx;
use super::peers::{Link, Peers, Role};
use crate::id::ConnId;

/// The addresses of the coordinator, and the state of the connection to it.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// Tried in order.
    pub(super) at: Vec<SocketAddr>,
    state: State,
    /// It has been connected before.
    pub(super) was_up: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Down,
    /// The address with this index is being tried.
    Dialing(ConnId, usize),
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

impl Line {
    pub(super) const fn new() -> Self {
        Self { at: Vec::new(), state: State::Down, was_up: false }
    }

    /// The connection, when it is open.
    pub(super) const fn up(&self) -> Option<ConnId> {
        match self.state {
            State::Up(conn) => Some(conn),
            State::Down | State::Dialing(..) => None,
        }
    }

    /// Tries the addresses; false when there are none.
    pub(super) fn connect(&mut self, peers: &mut Peers, cx: &mut Cx<'_>) -> bool {
        self.try_from(0, peers, cx)
    }

    fn try_from(&mut self, first: usize, peers: &mut Peers, cx: &mut Cx<'_>) -> bool {
        for (number, to) in self.at.iter().enumerate().skip(first) {
            if let Some(conn) = cx.dial(*to) {
                peers.insert(conn, Role::Coordinator(Link::default()));
                self.state = State::Dialing(conn, number);
                return true;
            }
        }
        self.state = State::Down;
        false
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
    pub(super) fn lost(&mut self, conn: ConnId, peers: &mut Peers, cx: &mut Cx<'_>) -> Lost {
        match self.state {
            State::Dialing(dialed, number) if dialed == conn => {
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
