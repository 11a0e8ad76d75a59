//! Starting and stopping a node, and its user's commands in between.

use super::connections::{NodeConn, Owner};
use super::downloads::RestoredFetches;
use super::service::{RunsEngine as _, Service as _};
use super::{
    ConnEvent, DiskInput, Misuse, Node, NodeAnswer, NodeCommand, NodeEffects, NodeOp, Output,
    RestoredNode, ServiceName, State, tell,
};
use crate::fetch;
use crate::id::Guid;
use crate::queue::server;
use crate::time::{Duration, Instant};

/// Clients in our queue are not blamed when nothing could be answered for so long.
const ABSENCE: Duration = Duration::from_secs(30);

impl Node {
    /// Restores what the store remembered: places and slots first, then
    /// downloads, then the timers of both, so that no client is called back or
    /// asked before everything is in its place (PQ-12).
    pub(super) fn start(&mut self, restored: RestoredNode, fx: &mut NodeEffects) {
        if self.state != State::New {
            return tell(fx, ConnEvent::Misuse { fault: Misuse::StartedTwice });
        }
        self.state = State::Running;
        self.us.listen = restored.listen;
        if let Some(servent) = restored.servent {
            self.us.servent = servent;
        } else {
            self.us.servent = Guid(self.root.fork("servent", 0).bytes());
            fx.output(Output::Persist(NodeOp::Servent(self.us.servent)));
        }
        tell(
            fx,
            ConnEvent::Started {
                restored_places: count(restored.queue.len()),
                restored_fetches: count(restored.fetches.len()),
                shared: count(restored.shared.len()),
            },
        );
        let RestoredNode { queue, fetches, trees, paused, shared, hosts, swarm, .. } = restored;
        let fetches = RestoredFetches { rows: fetches, trees, paused };
        self.step(fx, |services, cx| {
            for file in shared {
                services.disk(cx, DiskInput::Shared(file));
            }
            services.http.restore(cx, queue);
            services.downloads.restore(cx, fetches);
            services.http.resume(cx);
            services.downloads.resume(cx);
            services.overlay.restore(cx, hosts);
            services.swarm.restore(cx, swarm);
        });
    }

    /// Carries out a command of the user.
    pub(super) fn command(&mut self, command: NodeCommand, fx: &mut NodeEffects) {
        if let Some(service) = needs(&command).filter(|service| !self.is_on(*service)) {
            return fx.output(Output::Answer(NodeAnswer::Off { service }));
        }
        match command {
            NodeCommand::Stop => return self.stop(fx),
            NodeCommand::Listening { at } => self.us.listen = Some(at),
            NodeCommand::Wall { at } => self.us.wall.set(self.now, at),
            _ => {}
        }
        self.step(fx, |services, cx| match command {
            NodeCommand::Fetch(command) => services.downloads.command(cx, command),
            NodeCommand::Http(command) => services.http.command(cx, command),
            NodeCommand::Overlay(command) => services.overlay.command(cx, command),
            NodeCommand::Messages(command) => services.datagrams.command(cx, command),
            NodeCommand::Meet(command) => services.meetings.command(cx, command),
            NodeCommand::Swarm(command) => services.swarm.command(cx, command),
            NodeCommand::Listening { .. } => {
                services.swarm.iter_mut().for_each(|swarm| swarm.listening(cx));
                services.downloads.listening(cx);
            }
            NodeCommand::Woke { slept } => {
                if slept >= ABSENCE {
                    services.http.feed(cx, server::Input::Excuse);
                }
                services.downloads.feed(cx, fetch::Input::Woke);
                services.overlay.iter_mut().for_each(|overlay| overlay.woke(cx));
            }
            NodeCommand::Wall { .. } | NodeCommand::Stop => {}
        });
    }

    /// Says goodbye. Clients whose requests are held hear their places, which are
    /// saved with that (QA-3). Otherwise the engines are not told: to them it is as if
    /// the power failed now, and the next start finds what they have saved, so that
    /// active slots and places are given back to their owners (PQ-12).
    fn stop(&mut self, fx: &mut NodeEffects) {
        self.step(fx, |services, cx| services.http.answer_held(cx, Instant::MAX));
        self.step(fx, |services, cx| {
            services.overlay.iter_mut().for_each(|overlay| overlay.stop(cx));
            services.swarm.iter_mut().for_each(|swarm| swarm.stop(cx));
            let http = &services.http;
            // Replies and messages are sent first; the bytes of files are not.
            let flushes = |conn, state: &NodeConn| match state.owner {
                Owner::Http => http.is_idle(conn),
                Owner::Overlay => !state.is_dialing(),
                Owner::Undecided | Owner::Downloads | Owner::Swarm => false,
            };
            cx.io.close_all(flushes, "the servent stops", cx.fx);
        });
        self.state = State::Stopped;
        tell(fx, ConnEvent::Stopped);
        fx.output(Output::Answer(NodeAnswer::Stopped));
    }

    /// True when a service is configured.
    fn is_on(&self, service: ServiceName) -> bool {
        match service {
            ServiceName::Http => self.config.http,
            ServiceName::Downloads => self.config.download,
            ServiceName::Overlay => self.services.overlay.is_some(),
            ServiceName::Datagrams => self.services.datagrams.is_some(),
            ServiceName::Meet => self.services.meetings.is_some(),
            ServiceName::Swarm => self.services.swarm.is_some(),
        }
    }
}

/// The service that a command is for, when it is for exactly one.
const fn needs(command: &NodeCommand) -> Option<ServiceName> {
    match command {
        NodeCommand::Fetch(_) => Some(ServiceName::Downloads),
        NodeCommand::Http(_) => Some(ServiceName::Http),
        NodeCommand::Overlay(_) => Some(ServiceName::Overlay),
        NodeCommand::Messages(_) => Some(ServiceName::Datagrams),
        NodeCommand::Meet(_) => Some(ServiceName::Meet),
        NodeCommand::Swarm(_) => Some(ServiceName::Swarm),
        NodeCommand::Listening { .. }
        | NodeCommand::Stop
        | NodeCommand::Wall { .. }
        | NodeCommand::Woke { .. } => None,
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
