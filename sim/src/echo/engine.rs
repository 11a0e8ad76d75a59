//! The engine: both sides of an echo.

use serde::{Deserialize, Serialize};
use servent_core::engine::{Engine, FxOf};
use servent_core::time::{Duration, Instant};

/// How long the caller waits for an answer before it asks again.
const PATIENCE: Duration = Duration::from_millis(100);

/// A message: a question, or the answer that echoes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct EchoMessage {
    /// The number of the question.
    pub n: u32,
    /// It is the answer.
    pub answer: bool,
}

/// What can happen to a node.
#[derive(Debug, Clone, Copy)]
pub enum EchoInput {
    /// Its user wants so many questions answered.
    Ask(u32),
    /// A message arrived.
    Message(EchoMessage),
}

/// What a node reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
#[allow(missing_docs)] // The fields are named by what they hold.
pub enum EchoEvent {
    /// The caller asked.
    Asked { n: u32, again: bool },
    /// The other side echoed a question.
    Echoed { n: u32 },
    /// The caller has its answer.
    Answered { n: u32 },
}

/// A node: the caller while something is asked, else the other side.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct EchoNode {
    /// How many questions are to be answered.
    wanted: u32,
    /// The question that has no answer yet, and when to ask again.
    open: Option<(u32, Instant)>,
}

impl EchoNode {
    /// The question that has no answer yet.
    #[must_use]
    pub fn open(&self) -> Option<u32> {
        self.open.map(|(n, _)| n)
    }

    fn ask(&mut self, n: u32, again: bool, now: Instant, fx: &mut FxOf<Self>) {
        self.open = (n < self.wanted).then_some((n, now + PATIENCE));
        if self.open.is_some() {
            fx.event(EchoEvent::Asked { n, again });
            fx.output(EchoMessage { n, answer: false });
        }
    }
}

impl Engine for EchoNode {
    type Input = EchoInput;
    type Output = EchoMessage;
    type Event = EchoEvent;

    fn handle(&mut self, now: Instant, input: EchoInput, fx: &mut FxOf<Self>) {
        match input {
            EchoInput::Ask(count) => {
                self.wanted += count;
                if self.open.is_none() {
                    self.ask(self.wanted - count, false, now, fx);
                }
            }
            EchoInput::Message(EchoMessage { n, answer: false }) => {
                fx.event(EchoEvent::Echoed { n });
                fx.output(EchoMessage { n, answer: true });
            }
            // The answer to a question that was asked twice may come twice.
            EchoInput::Message(EchoMessage { n, .. }) if self.open() == Some(n) => {
                fx.event(EchoEvent::Answered { n });
                self.ask(n + 1, false, now, fx);
            }
            EchoInput::Message(_) => {}
        }
    }

    fn handle_timeout(&mut self, now: Instant, fx: &mut FxOf<Self>) {
        if let Some((n, _)) = self.open.filter(|(_, at)| *at <= now) {
            self.ask(n, true, now, fx);
        }
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        self.open.map(|(_, at)| (at, "answer"))
    }
}
