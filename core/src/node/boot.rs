//! Starting and stopping a node, and its user's commands in between.

use super::connections::Connections;
use super::cx::NodeCx;
use super::{
    ConnEvent, Misuse, Node, NodeAnswer, NodeCommand, NodeEffects, NodeOp, Output, RestoredNode,
    Service, State, tell,
};
use crate::fetch;
use crate::id::Guid;
use crate::queue::server;
use crate::time::{Duration, Instant};

/// Who waits in our queue is not blamed when nothing could be answered for so long.
const ABSENCE: Duration = Duration::from_secs(30);

impl Node {
    /// Restores what the store remembered: places and slots first, then
    /// downloads, then the timers of both, so that nobody is called back or
    /// asked before everything is in its place (PQ-12).
    pub(super) fn start(&mut self, now: Instant, restored: RestoredNode, fx: &mut NodeEffects) {
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
        let Self { config, us, io, http, downloads, overlay, swarm, .. } = self;
        let cx = &mut NodeCx::new(now, config, us, io, fx);
        for file in restored.shared {
            if let Some(overlay) = overlay {
                overlay.shares(cx, &file);
            }
            http.files.put(file);
        }
        for row in restored.queue {
            http.queue(cx, server::Input::Restore(row));
        }
        if config.download {
            downloads.listening(cx);
            for row in restored.fetches {
                downloads.restore(cx, row);
            }
            for (fetch, tree) in restored.trees {
                downloads.restore_tree(cx, fetch, tree);
            }
            for fetch in restored.paused {
                downloads.handle(cx, fetch::Input::RestorePaused(fetch));
            }
        }
        http.queue(cx, server::Input::Resume);
        if config.download {
            downloads.handle(cx, fetch::Input::Resume);
        }
        if let Some(overlay) = overlay {
            overlay.restore(cx, restored.hosts);
        }
        if let Some(swarm) = swarm {
            swarm.start(cx, restored.swarm);
        }
    }

    /// Carries out a command of the user.
    pub(super) fn command(&mut self, now: Instant, command: NodeCommand, fx: &mut NodeEffects) {
        if let Some(service) = needs(&command).filter(|service| !self.is_on(*service)) {
            return fx.output(Output::Answer(NodeAnswer::Off { service }));
        }
        if let NodeCommand::Stop = command {
            return self.stop(now, fx);
        }
        if let NodeCommand::Woke { slept } = command {
            return self.woke(now, slept, fx);
        }
        if let NodeCommand::Listening { at } = command {
            self.us.listen = Some(at);
        }
        let Self { config, us, io, http, downloads, overlay, datagrams, swarm, .. } = self;
        let cx = &mut NodeCx::new(now, config, us, io, fx);
        let input = match command {
            NodeCommand::Get(get) => fetch::Input::Get(get),
            NodeCommand::Cancel { fetch } => fetch::Input::Cancel { fetch },
            NodeCommand::Moved { fetch, from, to } => fetch::Input::Moved { fetch, from, to },
            NodeCommand::Pause { fetch } => fetch::Input::Pause { fetch },
            NodeCommand::Resume { fetch } => fetch::Input::GoOn { fetch },
            NodeCommand::AskNow { fetch } => fetch::Input::AskNow { fetch },
            NodeCommand::Sleep { fetch, length } => fetch::Input::Sleep { fetch, length },
            NodeCommand::ExpectGiv { fetch, servent, index } => {
                fetch::Input::ExpectGiv { fetch, servent, index }
            }
            NodeCommand::Listening { .. } => {
                if let Some(swarm) = swarm {
                    swarm.listening(cx);
                }
                return downloads.listening(cx);
            }
            NodeCommand::Swarm(command) => {
                if let Some(swarm) = swarm {
                    swarm.command(cx, command);
                }
                return;
            }
            NodeCommand::Giv { to, index } => {
                if !http.give(cx, to, index) {
                    cx.tell(ConnEvent::Misuse { fault: Misuse::UnknownFile { index } });
                }
                return;
            }
            NodeCommand::Slots { slots } => return http.queue(cx, server::Input::Slots(slots)),
            NodeCommand::Policy { policy } => return http.queue(cx, server::Input::Policy(policy)),
            NodeCommand::SendMessages { .. }
            | NodeCommand::TakenMessages { .. }
            | NodeCommand::CloseMessages { .. }
            | NodeCommand::ForgetMessages { .. } => {
                if let Some(datagrams) = datagrams {
                    datagrams.command(now, command, cx.fx);
                }
                return;
            }
            command => {
                if let Some(overlay) = overlay {
                    overlay.command(cx, http, command);
                }
                return;
            }
        };
        downloads.handle(cx, input);
    }

    /// We did not run for a while, or could reach nobody.
    fn woke(&mut self, now: Instant, slept: Duration, fx: &mut NodeEffects) {
        let Self { config, us, io, http, downloads, overlay, .. } = self;
        let cx = &mut NodeCx::new(now, config, us, io, fx);
        if slept >= ABSENCE {
            http.queue(cx, server::Input::Excuse);
        }
        downloads.handle(cx, fetch::Input::Woke);
        if let Some(overlay) = overlay {
            overlay.command(cx, http, NodeCommand::Woke { slept });
        }
    }

    /// Says goodbye. The engines are not told: to them it is as if the power
    /// failed now, and the next start finds what they have saved, so that
    /// active slots and places are given back to their owners (PQ-12).
    fn stop(&mut self, now: Instant, fx: &mut NodeEffects) {
        let Self { config, us, io, http, overlay, swarm, .. } = self;
        let cx = &mut NodeCx::new(now, config, us, io, fx);
        if let Some(overlay) = overlay {
            overlay.stop(cx, http);
        }
        if let Some(swarm) = swarm {
            swarm.stop(cx);
        }
        Connections::close_all(io, "the servent stops", fx);
        self.state = State::Stopped;
        tell(fx, ConnEvent::Stopped);
        fx.output(Output::Answer(NodeAnswer::Stopped));
    }

    /// True when a service is configured.
    fn is_on(&self, service: Service) -> bool {
        match service {
            Service::Http => self.config.http,
            Service::Downloads => self.config.download,
            Service::Overlay => self.overlay.is_some(),
            Service::Datagrams => self.datagrams.is_some(),
            Service::Swarm => self.swarm.is_some(),
        }
    }
}

/// The service a command needs, when it needs exactly one.
const fn needs(command: &NodeCommand) -> Option<Service> {
    match command {
        NodeCommand::Get(_)
        | NodeCommand::Moved { .. }
        | NodeCommand::Cancel { .. }
        | NodeCommand::Pause { .. }
        | NodeCommand::Resume { .. }
        | NodeCommand::AskNow { .. }
        | NodeCommand::Sleep { .. }
        | NodeCommand::ExpectGiv { .. } => Some(Service::Downloads),
        NodeCommand::Giv { .. } | NodeCommand::Slots { .. } | NodeCommand::Policy { .. } => {
            Some(Service::Http)
        }
        NodeCommand::Join { .. }
        | NodeCommand::Nearby { .. }
        | NodeCommand::Search { .. }
        | NodeCommand::EndSearch { .. }
        | NodeCommand::AskPush { .. } => Some(Service::Overlay),
        NodeCommand::SendMessages { .. }
        | NodeCommand::TakenMessages { .. }
        | NodeCommand::CloseMessages { .. }
        | NodeCommand::ForgetMessages { .. } => Some(Service::Datagrams),
        NodeCommand::Swarm(_) => Some(Service::Swarm),
        NodeCommand::Listening { .. } | NodeCommand::Stop | NodeCommand::Woke { .. } => None,
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
