//! One of several visitors that come to a place, and what people are told of it: of one that
//! does not show the code one line, and a sum where many of these come.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use super::ViaPlace;
use crate::progress::{Reporter, count};

/// So many that do not show the code have a line each; those that come within so long after the
/// first are summed up, and as long as more come they are.
const EACH: u32 = 3;
const SUMMED: Duration = Duration::from_secs(60);

/// One of several visitors.
#[derive(Debug, Clone)]
pub(super) struct PlaceVisitor {
    number: u64,
    /// Where the place sees it.
    seen: Option<SocketAddr>,
    lines: Arc<Mutex<VisitorLines>>,
}

/// What is to be said of a visitor when it has shown the code.
#[derive(Debug, Default)]
struct VisitorLines {
    known: bool,
    path: Vec<String>,
}

/// What people are told of a visitor.
#[derive(Debug, PartialEq, Eq)]
enum VisitorNews {
    Lines(Vec<String>),
    /// It has not shown the code, and its visit is over.
    Stranger(String),
}

impl VisitorLines {
    fn know(&mut self) -> Vec<String> {
        self.known = true;
        std::mem::take(&mut self.path)
    }

    /// Something has happened; of what precedes the code the path is told later.
    fn news(&mut self, event: &str, line: String) -> VisitorNews {
        let mut lines = match event {
            _ if self.known => Vec::new(),
            "path" => {
                self.path.push(line);
                return VisitorNews::Lines(Vec::new());
            }
            "silent" | "heard" => return VisitorNews::Lines(Vec::new()),
            "missed" | "turned_away" | "left" => return VisitorNews::Stranger(line),
            _ => self.know(),
        };
        lines.push(line);
        VisitorNews::Lines(lines)
    }
}

/// What is said of all visitors at a place that do not show the code.
#[derive(Debug, Clone, Default)]
pub(crate) struct StrangerLines(Arc<Mutex<StrangerCount>>);

#[derive(Debug, Default)]
struct StrangerCount {
    /// Until when those that come are summed up.
    until: Option<Instant>,
    /// Those that had a line each, and those that did not.
    told: u32,
    more: u64,
}

impl StrangerCount {
    /// One more has come; true when it has a line of its own.
    fn is_told(&mut self, now: Instant) -> bool {
        if self.more == 0 && self.until.is_none_or(|until| until <= now) {
            *self = Self { until: Some(now + SUMMED), ..Self::default() };
        }
        let told = self.told < EACH;
        if told {
            self.told += 1;
        } else {
            self.more += 1;
        }
        told
    }

    /// How many had none. As long as more come the next ones have none either.
    fn sum(&mut self, now: Instant) -> u64 {
        self.until = Some(now + SUMMED);
        std::mem::take(&mut self.more)
    }
}

impl StrangerLines {
    fn tell(&self, line: &str, reporter: Reporter) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.is_told(Instant::now()) {
            return reporter.say(line);
        }
        let Some(until) = all.until.filter(|_| all.more == 1) else { return };
        let strangers = Arc::clone(&self.0);
        tokio::spawn(async move {
            sleep_until(until).await;
            let mut all = strangers.lock().unwrap_or_else(PoisonError::into_inner);
            let more = count(all.sum(Instant::now()), "more visitor");
            reporter.say(&format!("{more} came in the last minute without showing the code"));
        });
    }
}

impl ViaPlace {
    /// The same for one of several visitors, who are told apart by their number.
    pub(crate) fn of_visitor(self, number: u64) -> Self {
        let (seen, lines) = Default::default();
        Self { visitor: Some(PlaceVisitor { number, seen, lines }), ..self }
    }

    /// The same for one that is said to be one of these strangers, if it is one.
    pub(crate) fn among(self, strangers: &StrangerLines) -> Self {
        Self { strangers: strangers.clone(), ..self }
    }

    /// The same when the place has said where it sees the visitor.
    pub(crate) fn seen_at(self, at: SocketAddr) -> Self {
        let visitor = self.visitor.map(|it| PlaceVisitor { seen: Some(at), ..it });
        Self { visitor, ..self }
    }

    /// Where the place sees the visitor, which it may say as it likes.
    pub(crate) fn seen(&self) -> Option<SocketAddr> {
        self.visitor.as_ref()?.seen
    }

    /// Which of several visitors it is.
    pub(crate) fn visitor(&self) -> Option<u64> {
        self.visitor.as_ref().map(|it| it.number)
    }

    /// The visitor has shown the code: people are told now by which path it has come.
    pub(crate) fn is_known(&self, reporter: &Reporter) {
        if let Some(PlaceVisitor { lines, .. }) = &self.visitor {
            let lines = lines.lock().unwrap_or_else(PoisonError::into_inner).know();
            lines.iter().for_each(|line| reporter.say(line));
        }
    }

    /// Tells of a path or what happens on it, and which visitor it leads to.
    pub(crate) fn tell(&self, mut fact: Value, sentence: &str, reporter: &Reporter) {
        let Some(PlaceVisitor { number, lines, .. }) = &self.visitor else {
            return reporter.tell(&fact, sentence);
        };
        fact["visitor"] = (*number).into();
        reporter.fact(&fact);
        let event = fact["event"].as_str().unwrap_or_default();
        let line = format!("visitor {number}: {sentence}");
        let news = lines.lock().unwrap_or_else(PoisonError::into_inner).news(event, line);
        match news {
            VisitorNews::Lines(lines) => lines.iter().for_each(|line| reporter.say(line)),
            VisitorNews::Stranger(line) => self.strangers.tell(&line, *reporter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_does_not_show_the_code_has_one_line_and_any_other_all() {
        let lines = |all: &[&str]| VisitorNews::Lines(all.iter().map(|it| (*it).into()).collect());
        for shows in [false, true] {
            let mut visitor = VisitorLines::default();
            for event in ["path", "silent", "heard"] {
                assert_eq!(visitor.news(event, event.into()), lines(&[]));
            }
            if shows {
                assert_eq!(visitor.news("joined", "joined".into()), lines(&["path", "joined"]));
                assert_eq!(visitor.news("path", "path".into()), lines(&["path"]));
                assert_eq!(visitor.news("left", "left".into()), lines(&["left"]));
            } else {
                let left = VisitorNews::Stranger("left".into());
                assert_eq!(visitor.news("left", "left".into()), left);
            }
        }
    }

    #[test]
    fn many_that_do_not_show_the_code_are_summed_up_each_minute() {
        let (mut all, begun) = (StrangerCount::default(), Instant::now());
        let later = |s| begun + Duration::from_secs(s);
        let told = (0..20).filter(|n| all.is_told(later(3 * n))).count();
        assert_eq!((told, all.sum(later(60))), (3, 17));
        let told = (20..40).filter(|n| all.is_told(later(3 * n))).count();
        assert_eq!((told, all.sum(later(120))), (0, 20), "as long as more come");
        assert!(!all.is_told(later(130)));
        assert_eq!(all.sum(later(180)), 1);
        assert!(all.is_told(later(240)), "none came for a minute");
    }
}
