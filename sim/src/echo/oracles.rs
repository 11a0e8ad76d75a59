//! Oracles: every question is answered once, in order, and nothing else is.

use alloc::vec::Vec;

use super::engine::EchoEvent;
use super::scenario::Scenario;
use super::world::Event;
use crate::check::{Oracle, RecordViolations, Violation};
use servent_core::time::Instant;
use servent_core::trace::Record;

/// All rules of an echo.
#[derive(Debug, Clone, Default)]
pub struct Oracles {
    questions: u32,
    asked: u32,
    answered: u32,
    violations: Vec<Violation>,
}

impl Oracles {
    /// For a scenario: it says how many questions there are.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        Self { questions: scenario.questions, ..Self::default() }
    }
}

impl Oracle for Oracles {
    type Event = Event;

    fn observe(&mut self, record: &Record<Event>) {
        let Event::Echo(event) = record.event else { return };
        let mut found = RecordViolations::at(record, &mut self.violations);
        match event {
            EchoEvent::Asked { n, again: false } => {
                if n != self.answered {
                    found.violation("order", "check.order", [("n", n)]);
                }
                self.asked = self.asked.max(n + 1);
            }
            EchoEvent::Answered { n } if n >= self.asked => {
                found.violation("answers", "check.not_asked", [("n", n)]);
            }
            EchoEvent::Answered { n } if n < self.answered => {
                found.violation("once", "check.twice", [("n", n)]);
            }
            EchoEvent::Answered { n } => self.answered = n + 1,
            _ => {}
        }
    }

    fn finish(&mut self, end: Instant) {
        if self.answered < self.questions {
            let args = [("answered", self.answered), ("questions", self.questions)];
            RecordViolations::at_end(end, &mut self.violations).violation(
                "end",
                "check.waits",
                args,
            );
        }
    }

    fn violations(&self) -> &[Violation] {
        &self.violations
    }
}
