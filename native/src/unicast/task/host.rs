//! The protocol as the task holds it: bare, or behind its bytes and on a tape.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::net::SocketAddr;
use std::path::Path;

use servent_core::engine::{Effect, Engine as _, FxOf};
use servent_core::node::messenger::{self, Command, Messenger};
use servent_core::rng::Rng;
use servent_core::time::Instant;
use servent_core::trace::letters::{Start, Writer};
use servent_core::trace::qlog;
use servent_core::unicast::{Config, Endpoint, Input, Payload};
use servent_core::wire::unicast::{Packet, PacketError};

/// Who runs the protocol, and what it has answered so far.
pub(super) enum Host {
    /// Nobody looks on.
    Bare { endpoint: Box<Endpoint>, fx: FxOf<Endpoint> },
    /// Everything it is given stands on a tape.
    Taped(Box<Taped>),
}

/// A messenger and its tape.
pub(super) struct Taped {
    messenger: Messenger,
    fx: FxOf<Messenger>,
    pub(super) answers: Vec<Effect<messenger::Output, messenger::Event>>,
    writer: Writer,
    /// `None` once it could not be written.
    file: Option<BufWriter<File>>,
    lines: Vec<String>,
    /// The last instant on the tape.
    at: Instant,
}

impl Host {
    pub(super) fn new(
        now: Instant,
        config: Config,
        seed: u64,
        tape: Option<&Path>,
    ) -> io::Result<Self> {
        let Some(path) = tape else {
            let endpoint = Box::new(Endpoint::new(config, Rng::new(seed)));
            return Ok(Self::Bare { endpoint, fx: FxOf::<Endpoint>::new() });
        };
        let file = BufWriter::with_capacity(1 << 16, crate::tape::private(path)?);
        let mut lines = Vec::new();
        let writer = Writer::new(now, &Start::new("unicast", seed, config.clone()), &mut lines);
        let mut taped = Taped {
            messenger: Messenger::new(config, seed),
            fx: FxOf::<Messenger>::new(),
            answers: Vec::new(),
            writer,
            file: Some(file),
            lines,
            at: now,
        };
        taped.handle(now, messenger::Input::Start);
        Ok(Self::Taped(Box::new(taped)))
    }

    /// The protocol, to be looked at.
    pub(super) const fn endpoint(&self) -> &Endpoint {
        match self {
            Self::Bare { endpoint, .. } => endpoint,
            Self::Taped(taped) => taped.messenger.endpoint(),
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.endpoint().poll_timeout().map(|(at, _)| at)
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        match self {
            Self::Bare { endpoint, fx } => endpoint.handle_timeout(now, fx),
            Self::Taped(taped) => {
                taped.writer.timeout(now, &mut taped.lines);
                taped.ran(now, |messenger, fx| messenger.handle_timeout(now, fx));
            }
        }
    }

    /// A datagram came.
    pub(super) fn datagram(
        &mut self,
        now: Instant,
        from: SocketAddr,
        data: Payload,
    ) -> Result<(), PacketError> {
        match self {
            Self::Bare { endpoint, fx } => {
                let bytes = data.len() as u32;
                let packet = Packet::parse(&data, &endpoint.config().seal)?;
                endpoint.handle(now, Input::Packet { peer: from, packet, bytes }, fx);
            }
            // What is wrong with it comes back as an event.
            Self::Taped(taped) => taped.handle(now, messenger::Input::Datagram { from, data }),
        }
        Ok(())
    }

    pub(super) fn handle(&mut self, now: Instant, input: Input) {
        let taped = match self {
            Self::Bare { endpoint, fx } => return endpoint.handle(now, input, fx),
            Self::Taped(taped) => taped,
        };
        let command = match input {
            Input::Send { peer: to, payload: data, order } => Command::Send { to, order, data },
            Input::Taken { peer: from, messages, bytes } => {
                Command::Taken { from, messages, bytes }
            }
            Input::Close { peer: to } => Command::Close { to },
            Input::Forget { peer, side } => Command::Forget { peer, side },
            Input::Flush => return taped.handle(now, messenger::Input::Flush),
            // Only `datagram` knows the bytes.
            Input::Packet { .. } => return,
        };
        taped.handle(now, messenger::Input::Command(command));
    }

    /// True when it has answered something that is not carried out yet.
    pub(super) fn has_answers(&self) -> bool {
        match self {
            Self::Bare { fx, .. } => !fx.is_empty(),
            Self::Taped(taped) => !taped.answers.is_empty(),
        }
    }

    /// Writes what the turn brought onto the tape.
    pub(super) fn end_turn(&mut self) {
        if let Self::Taped(taped) = self {
            taped.write();
        }
    }
}

impl Taped {
    fn handle(&mut self, now: Instant, input: messenger::Input) {
        self.writer.input(now, &input, &mut self.lines);
        self.ran(now, |messenger, fx| messenger.handle(now, input, fx));
    }

    fn ran(&mut self, now: Instant, go: impl FnOnce(&mut Messenger, &mut FxOf<Messenger>)) {
        self.at = now;
        go(&mut self.messenger, &mut self.fx);
        self.writer.effects(now, self.fx.as_slice(), &mut self.lines);
        self.answers.extend(self.fx.drain());
        if self.lines.len() > 1_024 {
            self.write();
        }
    }

    fn write(&mut self) {
        let Some(file) = &mut self.file else { return self.lines.clear() };
        let mut lines = self.lines.drain(..);
        let written = lines.try_for_each(|line| file.write_all(qlog::frame(&line).as_bytes()));
        drop(lines);
        if let Err(why) = written.and_then(|()| file.flush()) {
            tracing::error!(%why, "the trace is not whole");
            self.file = None;
        }
    }
}

impl Drop for Taped {
    fn drop(&mut self) {
        self.writer.checkpoint(self.at, &mut self.lines);
        self.write();
    }
}
