//! A request that a server has not answered yet: it may hold it until a slot is free
//! (QA-3), and then nothing else shows that the download waits in line.

use std::net::SocketAddr;

use servent_core::node::FetchView;
use servent_core::time::{Duration, Instant};

/// How long an answer takes on the longest lines; one that takes longer is held.
const USUAL: Duration = Duration::from_secs(3);

/// What is said of it.
pub(super) const HELD: &str =
    "has the request and has not answered yet: it may hold it until a slot is free";

/// The request of which a download waits for the answer.
#[derive(Debug, Default)]
pub(super) struct UnansweredRequest {
    asked: Option<(String, Instant)>,
    said: bool,
}

impl UnansweredRequest {
    /// Looks at the download; returns the server of which it should be said, once for
    /// each request.
    pub(super) fn look(&mut self, now: Instant, view: &FetchView) -> Option<SocketAddr> {
        let comes = view.sources.iter().any(|source| source.state == "receiving");
        let asked = view.sources.iter().find(|source| source.state == "asking" && !comes);
        let Some(source) = asked.filter(|source| source.position.is_none()) else {
            *self = Self::default();
            return None;
        };
        match &self.asked {
            Some((at, since)) if *at == source.at => {
                let late = !self.said && now.since(*since) >= USUAL;
                self.said |= late;
                source.at.parse().ok().filter(|_| late)
            }
            _ => {
                (self.asked, self.said) = (Some((source.at.clone(), now)), false);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::fetch::tests::view;

    #[test]
    fn a_late_answer_is_told_of_once_for_each_request() {
        let mut request = UnansweredRequest::default();
        let mut at =
            |second, state| request.look(Instant::from_secs(second), &view(state, 0)).is_some();
        assert_eq!([0, 2, 3, 9].map(|s| at(s, "asking")), [false, false, true, false]);
        assert!(!at(10, "queued"));
        assert_eq!([11, 13, 14].map(|s| at(s, "asking")), [false, false, true]);
        assert!(!at(15, "receiving"));
    }
}
