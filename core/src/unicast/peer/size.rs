//! How large the datagrams to a peer may be (PA-6, after RFC 8899): small ones
//! at first, then as large as a probe shows that the path carries; small again
//! when large ones stop arriving.

use crate::time::{Duration, Instant};
use crate::unicast::Config;

/// Sizes that paths are known to have: Ethernet through a tunnel, Ethernet with
/// and without IPv6, jumbo frames.
const LADDER: [u32; 4] = [1_400, 1_452, 1_472, 8_952];
/// Those of a tunnel of 1 420 bytes (WireGuard) with IPv6 and IPv4: they are tried when a
/// larger one did not arrive, so that other paths pay nothing for them.
const BETWEEN: [u32; 2] = [1_372, 1_392];
/// A size is given up after so many probes without an answer, it and what is below it.
const TRIES: u8 = 3;
/// How long until a larger one is tried again.
const RAISE: Duration = Duration::from_secs(60);
/// The same after large datagrams had stopped arriving; then twice as long each time.
const WARY: Duration = Duration::from_secs(5);

/// A probe that is not answered.
#[derive(Debug, Clone, Copy)]
struct OpenProbe {
    size: u32,
    /// The step that the search is about.
    step: u32,
    due: Instant,
    tries: u8,
}

/// The size of datagrams to one peer.
#[derive(Debug, Clone)]
pub(in crate::unicast) struct PathSize {
    size: u32,
    /// The largest that is worth a probe.
    most: u32,
    /// What the system has refused, and until when that is believed: it may send by another
    /// way then.
    refused: Option<(u32, Instant)>,
    probe: Option<OpenProbe>,
    /// No probes before this.
    rests_until: Instant,
    /// How long it rested the last time.
    rest: Duration,
}

impl PathSize {
    pub(super) fn new(config: &Config) -> Self {
        let most = config.mtu.clamp(200, 65_000);
        let size = if config.searches_size() { config.mtu_floor.clamp(200, most) } else { most };
        Self { size, most, refused: None, probe: None, rests_until: Instant::ZERO, rest: RAISE }
    }

    /// Bytes of a datagram.
    pub(in crate::unicast) const fn size(&self) -> u32 {
        self.size
    }

    /// The next larger size; less than that where the system refuses it.
    fn next(&self) -> Option<u32> {
        let steps = LADDER.into_iter().chain([self.most]);
        let next = steps.filter(|size| *size > self.size && *size <= self.most).min()?;
        let least = self.refused.map_or(next, |(least, _)| least);
        Some(if self.is_refused(next) { self.below(least).unwrap_or(next) } else { next })
    }

    /// What is tried after that one: less, if there is less that is worth a probe.
    fn below(&self, size: u32) -> Option<u32> {
        BETWEEN.into_iter().filter(|step| *step > self.size && *step < size).max()
    }

    /// True for what the system has refused a short time ago.
    fn is_refused(&self, size: u32) -> bool {
        self.refused.is_some_and(|(least, _)| size >= least)
    }

    /// When a probe is due, if the search goes on.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let size = self.probe.map_or_else(|| self.next(), |probe| Some(probe.size))?;
        let due = self.probe.map_or(self.rests_until, |probe| probe.due);
        Some(
            self.refused.filter(|_| self.is_refused(size)).map_or(due, |(_, until)| due.max(until)),
        )
    }

    /// The size to be probed now.
    pub(super) fn ask(&mut self, now: Instant, patience: Duration) -> Option<u32> {
        if self.deadline().is_none_or(|due| due > now) {
            return None;
        }
        self.refused.take_if(|(_, until)| *until <= now);
        let step = self.next()?;
        let open = self.probe.filter(|probe| probe.step == step);
        let (size, tries) = open.map_or((step, 0), |probe| (probe.size, probe.tries));
        if tries >= TRIES {
            self.probe = None;
            self.rest = (self.rest + self.rest).min(RAISE);
            self.rests_until = now + self.rest;
            return None;
        }
        let due = now + patience.max(Duration::from_micros(1));
        let next = self.below(size).unwrap_or(size);
        self.probe = Some(OpenProbe { size: next, step, due, tries: tries + 1 });
        Some(size)
    }

    /// A datagram of that size has arrived: true when it is the new size.
    pub(super) fn found(&mut self, size: u32, now: Instant) -> bool {
        let asked = |probe: &OpenProbe| {
            size == probe.step || (size < probe.step && BETWEEN.contains(&size))
        };
        let Some(probe) = self.probe.filter(asked).filter(|_| size > self.size) else {
            return false;
        };
        (self.size, self.probe, self.rests_until) = (size, None, now);
        if size < probe.step {
            // What is above it was asked for once, and may have been lost by chance.
            let above = BETWEEN.into_iter().filter(|step| *step > size && *step < probe.step).min();
            let (size, tries) = (above.unwrap_or(probe.step), probe.tries.saturating_sub(1));
            self.probe = Some(OpenProbe { size, tries, due: now, ..probe });
        }
        true
    }

    /// True when there is a smaller size to fall back to.
    pub(super) fn may_shrink(&self, config: &Config) -> bool {
        config.searches_size() && self.size > config.mtu_floor.clamp(200, self.most.max(200))
    }

    /// Large datagrams have stopped arriving, or the system refuses them: true
    /// when the size is another one now.
    pub(super) fn shrink(&mut self, now: Instant, config: &Config) -> bool {
        if !self.may_shrink(config) {
            return false;
        }
        let floor = config.mtu_floor.clamp(200, self.most.max(200));
        (self.size, self.probe, self.rest) = (floor, None, WARY);
        self.rests_until = now + WARY;
        true
    }

    /// The path is another one, of which nothing is known: true when the size is another
    /// one now.
    pub(super) fn begin_anew(&mut self, config: &Config) -> bool {
        let before = core::mem::replace(self, Self::new(config));
        before.size != self.size
    }

    /// The system sends nothing that large, for now: nothing that a path says holds for good
    /// (RFC 8899 §5.1.1).
    pub(super) fn refused(&mut self, size: u32, now: Instant, config: &Config) -> bool {
        if !config.searches_size() {
            return false;
        }
        let before = self.refused.filter(|(_, until)| *until > now);
        let least = before.map_or(size, |(least, _)| least.min(size));
        self.refused = Some((least, now + RAISE));
        self.probe.take_if(|probe| probe.step >= size);
        let shrinks = self.size >= size && self.shrink(now, config);
        if shrinks {
            self.rests_until = now;
        }
        shrinks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIP: Duration = Duration::from_millis(20);

    fn search() -> Config {
        Config { mtu: 9_000, mtu_floor: 1_200, ..Config::default() }
    }

    /// Searches on a path that carries so much; how many probes it took.
    fn settle(path: &mut PathSize, carries: u32, mut now: Instant) -> (u32, Instant) {
        for probes in 0..100 {
            let Some(due) = path.deadline() else { return (probes, now) };
            now = now.max(due);
            match path.ask(now, TRIP) {
                Some(size) if size <= carries => {
                    now += TRIP;
                    assert!(path.found(size, now));
                }
                Some(_) => {}
                None => return (probes, now),
            }
        }
        panic!("it never ends");
    }

    #[test]
    fn the_largest_size_is_found_step_by_step_and_the_next_one_given_up() {
        let now = Instant::from_secs(1);
        for (carries, size, probes) in [
            (1_200, 1_200, 3),
            (1_420, 1_400, 4),
            (1_472, 1_472, 6),
            (9_000, 9_000, 5),
            (1_372, 1_372, 4),
            (1_392, 1_392, 4),
        ] {
            let mut path = PathSize::new(&search());
            assert_eq!(path.size(), 1_200);
            let (asked, end) = settle(&mut path, carries, now);
            assert_eq!((path.size(), asked), (size, probes), "{carries}");
            assert!(path.ask(end + Duration::from_secs(1), TRIP).is_none(), "it rests");
        }
    }

    #[test]
    fn a_step_is_taken_when_the_path_carries_all_of_it() {
        let now = Instant::from_secs(1);
        for (carries, size) in [
            (1_371, 1_200),
            (1_372, 1_372),
            (1_391, 1_372),
            (1_392, 1_392),
            (1_399, 1_392),
            (1_400, 1_400),
            (1_451, 1_400),
            (1_452, 1_452),
            (1_471, 1_452),
            (8_951, 1_472),
            (8_952, 8_952),
            (8_999, 8_952),
        ] {
            let mut path = PathSize::new(&search());
            settle(&mut path, carries, now);
            assert_eq!(path.size(), size, "{carries}");
        }
    }

    #[test]
    fn a_probe_that_was_lost_by_chance_is_sent_again_and_one_too_late_counts() {
        let mut path = PathSize::new(&search());
        let mut now = Instant::from_secs(1);
        for size in [1_400, 1_392, 1_372] {
            assert_eq!(path.ask(now, TRIP), Some(size));
            now += TRIP;
        }
        assert!(path.found(1_400, now), "the answer to the first");
        assert!(!path.found(1_400, now), "once more");
        assert!(!path.found(1_372, now), "and to the last");
        for _ in 0..TRIES - 1 {
            assert_eq!(path.ask(now, TRIP), Some(1_452));
            now += TRIP;
        }
        assert!(path.found(1_452, now), "the answer to the last");
        assert!(!path.found(1_452, now), "and to one before");
        assert_eq!(path.ask(now, TRIP), Some(1_472));
    }

    #[test]
    fn one_probe_lost_by_chance_costs_a_smaller_step_and_not_the_size() {
        for lost in 1..TRIES {
            let mut path = PathSize::new(&search());
            let mut now = Instant::from_secs(1);
            for _ in 0..lost {
                assert!(path.ask(now, TRIP).is_some());
                now += TRIP;
            }
            settle(&mut path, 1_472, now);
            assert_eq!(path.size(), 1_472, "{lost}");
        }
    }

    #[test]
    fn where_the_system_itself_is_in_a_tunnel_the_size_of_the_tunnel_is_found() {
        let config = search();
        for carries in [1_372, 1_392] {
            let (mut path, mut now) = (PathSize::new(&config), Instant::from_secs(1));
            while let Some(size) = path.ask(now, TRIP) {
                now += TRIP;
                if size > carries {
                    assert!(!path.refused(size, now, &config));
                } else {
                    assert!(path.found(size, now));
                }
            }
            assert_eq!(
                (path.size(), now),
                (
                    carries,
                    Instant::from_secs(1) + TRIP.ratio(if carries == 1_372 { 3 } else { 2 }, 1)
                )
            );
        }
    }

    #[test]
    fn a_larger_size_is_tried_again_after_a_minute() {
        let now = Instant::from_secs(1);
        let mut path = PathSize::new(&search());
        let (_, end) = settle(&mut path, 1_400, now);
        assert_eq!(path.deadline(), Some(end + RAISE), "when it was given up");
        settle(&mut path, 1_472, end + RAISE);
        assert_eq!(path.size(), 1_472);
    }

    #[test]
    fn without_a_floor_there_is_no_search() {
        let path = PathSize::new(&Config::default());
        assert_eq!((path.size(), path.deadline()), (1_400, None));
    }

    #[test]
    fn what_stops_arriving_is_small_again_and_tried_anew_later() {
        let (config, now) = (search(), Instant::from_secs(1));
        let mut path = PathSize::new(&config);
        settle(&mut path, 9_000, now);
        assert!(path.shrink(now, &config) && !path.shrink(now, &config));
        assert_eq!((path.size(), path.deadline()), (1_200, Some(now + WARY)));
        assert!(!path.found(1_400, now), "an answer from before");
        settle(&mut path, 1_452, now);
        assert_eq!(path.size(), 1_452);
    }

    #[test]
    fn after_a_fall_the_search_begins_again_soon_and_then_more_and_more_seldom() {
        let (config, now) = (search(), Instant::from_secs(1));
        let mut path = PathSize::new(&config);
        let (_, mut end) = settle(&mut path, 1_472, now);
        assert!(path.shrink(end, &config));
        for rest in [5, 10, 20, 40, 60, 60] {
            let due = end + Duration::from_secs(rest);
            assert_eq!(path.deadline(), Some(due), "{rest} s");
            end = settle(&mut path, 1_232, due).1;
        }
        // The path is wide again.
        settle(&mut path, 1_472, end + RAISE);
        assert_eq!(path.size(), 1_472);
    }

    #[test]
    fn what_the_system_refuses_is_tried_again_after_a_minute() {
        let (config, now) = (search(), Instant::from_secs(1));
        let mut path = PathSize::new(&config);
        assert_eq!(path.ask(now, TRIP), Some(1_400));
        assert!(!path.refused(1_300, now, &config), "only a probe");
        assert_eq!((path.size(), path.deadline()), (1_200, Some(now + RAISE)));
        settle(&mut path, 9_000, now);
        assert_eq!(path.size(), 9_000, "the system sends it by another way");
    }

    #[test]
    fn what_is_below_a_refused_size_is_searched_at_once() {
        let (config, now) = (search(), Instant::from_secs(1));
        let mut path = PathSize::new(&config);
        let (_, end) = settle(&mut path, 9_000, now);
        assert!(path.refused(9_000, end, &config));
        let mut at = end;
        for size in LADDER {
            assert_eq!((path.deadline(), path.ask(at, TRIP)), (Some(at), Some(size)));
            at += TRIP;
            assert!(path.found(size, at));
        }
        assert_eq!((path.size(), path.deadline()), (8_952, Some(end + RAISE)));
        assert_eq!(path.ask(end + RAISE, TRIP), Some(9_000));
    }

    #[test]
    fn a_forged_refusal_of_anything_holds_for_a_minute_and_no_longer() {
        let (config, now) = (search(), Instant::from_secs(1));
        for size in [0, 1, 600, 1_200, 1_201, 1_472, 65_000] {
            let mut path = PathSize::new(&config);
            let (_, end) = settle(&mut path, 1_472, now);
            path.refused(size, end, &config);
            assert!((1_200..=1_472).contains(&path.size()), "{size}");
            settle(&mut path, 1_472, end + RAISE);
            assert_eq!(path.size(), 1_472, "{size}");
        }
    }
}
