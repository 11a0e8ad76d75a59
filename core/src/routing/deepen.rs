//! Dynamic queries: searches that are extended step by step (RT-18).
//!
//! An ultrapeer controls its own searches and those of its leaves. First it
//! asks the leaves whose keywords match, and, with a single hop, the neighbours
//! whose keyword tables match. Then it asks one neighbour after the other with
//! the TTL that should bring the results still missing, estimated from the
//! results so far and the number of servents reached; while nothing is found,
//! several neighbours at a time. It ends when there are enough results, when no
//! neighbour is left, or when its time is up.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::links::NeighbourLink;
use super::memories::memory::RoutingEffects;
use super::memories::route::Route;
use super::{Config, Router};
use crate::id::Guid;
use crate::time::{Duration, Instant};
use crate::wire::gnutella::{MessageBody, OverlayMessage, Query};

/// Servents a search shall reach at most while nothing is found.
const WIDEST: u64 = 50_000;
/// Maximum number of neighbours asked at a time.
const WIDTH: usize = 8;
/// The TTL for the first neighbours that are asked in full; those one hop away
/// have been probed already.
const SHALLOW: u8 = 2;

/// All searches controlled here.
#[derive(Debug, Clone, Default)]
pub(super) struct Deepenings {
    all: BTreeMap<Guid, Deepening>,
    /// When each continues.
    due: BTreeSet<(Instant, Guid)>,
}

/// A search controlled here.
#[derive(Debug, Clone)]
struct Deepening {
    query: Query,
    /// Where it came from, and the hops it is sent with.
    from: Route,
    hops: u8,
    until: Instant,
    /// The neighbours asked in full.
    asked: Vec<Route>,
    /// Estimate of the servents it has reached.
    reached: u64,
    results: u32,
    /// Steps so far, results before the last one, and neighbours it asked.
    steps: u8,
    before: u32,
    width: usize,
}

impl Deepenings {
    /// When the next search continues.
    pub(super) fn next(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// So many files were found.
    pub(super) fn found(&mut self, guid: Guid, files: u8) {
        if let Some(search) = self.all.get_mut(&guid) {
            search.results = search.results.saturating_add(files.into());
        }
    }

    /// The search is not needed any more.
    pub(super) fn end(&mut self, guid: Guid) {
        self.all.remove(&guid);
        self.due.retain(|(_, other)| *other != guid);
    }

    /// Takes the next search that is due.
    fn take(&mut self, now: Instant) -> Option<Guid> {
        let due = self.due.first().copied().filter(|(at, _)| *at <= now)?;
        self.due.remove(&due);
        Some(due.1)
    }

    /// Makes room: ends the oldest search when one source has more than `each`,
    /// or all together have more than `most`.
    fn make_room(&mut self, from: Route, (each, most): (u32, u32)) {
        let oldest = |fits: &dyn Fn(&Deepening) -> bool, most: u32| {
            let those = self.all.iter().filter(|(_, search)| fits(search));
            let full = those.clone().count() >= most.max(1) as usize;
            those.min_by_key(|(_, search)| search.until).map(|(guid, _)| *guid).filter(|_| full)
        };
        let over = oldest(&|search| search.from == from, each).or_else(|| oldest(&|_| true, most));
        if let Some(guid) = over {
            self.end(guid);
        }
    }
}

/// Servents that a query reaches through one neighbour, if each of them has
/// this many links.
fn horizon(links: u32, ttl: u8) -> u64 {
    let fan = u64::from(links.clamp(2, 64)) - 1;
    (0..ttl.min(8)).map(|far| fan.pow(far.into())).sum()
}

/// The TTL that reaches `wanted` servents through one neighbour, up to the
/// maximum of this step.
fn depth(link: &NeighbourLink, (wanted, most): (u64, u8), config: &Config) -> u8 {
    let takes = link.neighbour.max_ttl.unwrap_or(u8::MAX);
    let most = most.min(config.deep_ttl).min(takes).max(1);
    let enough = |ttl: &u8| horizon(link.degree(), *ttl) >= wanted;
    (SHALLOW..most).find(enough).unwrap_or(most)
}

impl Deepening {
    /// True when there are enough results. For a leaf fewer are enough when its
    /// words turn out to be rare: asking the remaining neighbours would not
    /// bring more.
    fn enough(&self, left: usize, config: &Config) -> bool {
        let rare = self.from != Route::LOCAL && self.asked.len() >= left;
        let wanted = if rare { config.enough_rare } else { config.enough };
        self.results >= wanted
    }

    /// How many servents each of the remaining neighbours should reach.
    fn share(&self, left: usize, config: &Config) -> u64 {
        let missing = u64::from(config.enough.saturating_sub(self.results));
        let wanted = match u64::from(self.results) {
            0 => WIDEST,
            found => (self.reached.max(1) * missing / found).min(WIDEST),
        };
        wanted.div_ceil(left.max(1) as u64)
    }
}

impl Router {
    /// True when queries of this neighbour are controlled here.
    pub(super) fn leads(&self, slot: u32) -> bool {
        self.config.relay
            && self.config.dynamic
            && self.links.at(slot).is_some_and(|link| !link.neighbour.relays)
    }

    /// Starts to control a search of ours, or of a leaf.
    pub(super) fn lead(
        &mut self,
        now: Instant,
        (guid, from): (Guid, Route),
        (query, hops): (Query, u8),
        fx: &mut RoutingEffects,
    ) {
        let limits = (self.config.deepenings_per_leaf, self.config.deepenings);
        self.deepenings.make_room(from, limits);
        let until = now + self.config.search_life.scaled(self.config.time_scale);
        let mut search = Deepening {
            query,
            from,
            hops,
            until,
            asked: Vec::new(),
            reached: 0,
            results: 0,
            steps: 0,
            before: 0,
            width: 0,
        };
        let probed = self.probe(now, guid, &mut search, fx);
        self.deepenings.all.insert(guid, search);
        if probed {
            self.go_on_after(now, guid, 1);
        } else {
            self.go_deeper(now, guid, fx);
        }
    }

    /// The neighbours that a search can still be sent to.
    fn left(&self, search: &Deepening) -> Vec<u32> {
        let fits = |link: &&NeighbourLink| {
            search.hops < self.config.max_ttl
                && link.neighbour.relays
                && link.route != search.from
                && search.hops < link.hops_flow
                && !search.asked.contains(&link.route)
        };
        self.links.iter().filter(fits).filter_map(|link| link.route.slot()).collect()
    }

    /// Asks, with a single hop, the neighbours whose keyword tables match.
    fn probe(
        &mut self,
        now: Instant,
        guid: Guid,
        search: &mut Deepening,
        fx: &mut RoutingEffects,
    ) -> bool {
        let promises = |slot: &u32| {
            let link = self.links.at(*slot);
            link.is_some_and(|link| link.neighbour.probes && link.promises(search.query.criteria()))
        };
        let most = self.config.probe_links as usize;
        let slots: Vec<u32> = self.left(search).into_iter().filter(promises).take(most).collect();
        search.reached += slots.len() as u64;
        self.send_on(now, &slots, guid, (search, 1), fx);
        !slots.is_empty()
    }

    fn send_on(
        &mut self,
        now: Instant,
        slots: &[u32],
        guid: Guid,
        (search, ttl): (&Deepening, u8),
        fx: &mut RoutingEffects,
    ) {
        if !slots.is_empty() {
            let (hops, body) = (search.hops, MessageBody::Query(search.query.clone()));
            self.originate(now, slots, OverlayMessage { guid, ttl, hops, body }, fx);
        }
    }

    /// Schedules the next step of a search for when the answers to the last one
    /// have had time to arrive.
    fn go_on_after(&mut self, now: Instant, guid: Guid, ttl: u8) {
        let step = self.config.step_every.ratio(ttl.into(), 1).scaled(self.config.time_scale);
        self.deepenings.due.insert((now + step.max(Duration::from_millis(1)), guid));
    }

    /// Asks the next neighbours, unless there are enough results.
    fn go_deeper(&mut self, now: Instant, guid: Guid, fx: &mut RoutingEffects) {
        let Some(mut search) = self.deepenings.all.remove(&guid) else { return };
        let left = self.left(&search);
        let asker_gone = search.from != Route::LOCAL && self.links.by_route(search.from).is_none();
        if asker_gone || now >= search.until || search.enough(left.len(), &self.config) {
            return;
        }
        if left.is_empty() {
            // Our own search continues with the next neighbour that connects.
            if search.from == Route::LOCAL {
                self.deepenings.all.insert(guid, search);
            }
            return;
        }
        let idle = search.results == search.before;
        // Its hits must find their way back for as long as it runs.
        let mark = self.marks.of_id(guid);
        if self.queries.renew(now, mark, search.from).is_err() {
            return;
        }
        search.width = if idle { (2 * search.width).clamp(1, WIDTH) } else { 1 };
        search.before = search.results;
        let farthest = SHALLOW.saturating_add(search.steps);
        let farthest = farthest.min(self.config.max_ttl - search.hops);
        search.steps = search.steps.saturating_add(1);
        let wanted = (search.share(left.len(), &self.config), farthest);
        // Do not always start with the same neighbour.
        let first = usize::from(guid.0[0]);
        let mut deepest = 1;
        for at in 0..search.width.min(left.len()) {
            let slot = left[(first + at) % left.len()];
            let Some(link) = self.links.at(slot) else { continue };
            let ttl = depth(link, wanted, &self.config);
            search.asked.push(link.route);
            search.reached += horizon(link.degree(), ttl);
            deepest = deepest.max(ttl);
            self.send_on(now, &[slot], guid, (&search, ttl), fx);
        }
        self.deepenings.all.insert(guid, search);
        self.go_on_after(now, guid, deepest);
    }

    /// Continues the searches that are due.
    pub(super) fn deepen(&mut self, now: Instant, fx: &mut RoutingEffects) {
        while let Some(guid) = self.deepenings.take(now) {
            self.go_deeper(now, guid, fx);
        }
    }

    /// A new neighbour can be asked by those of our searches that have asked
    /// all others.
    pub(super) fn wake_searches(&mut self, now: Instant) {
        let waits = |guid: &Guid| !self.deepenings.due.iter().any(|(_, other)| other == guid);
        let waiting: Vec<Guid> = self.deepenings.all.keys().copied().filter(waits).collect();
        for guid in waiting {
            self.go_on_after(now, guid, 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_horizon_grows_with_every_hop_and_link() {
        let reached: Vec<u64> = (0..4).map(|ttl| horizon(4, ttl)).collect();
        assert_eq!(reached, [0, 1, 1 + 3, 1 + 3 + 9]);
        assert_eq!((horizon(0, 3), horizon(2, 3)), (3, 3), "a chain at least");
        assert_eq!(horizon(1_000, 2), horizon(64, 2), "whatever a neighbour says");
        assert_eq!(horizon(3, 200), horizon(3, 8));
    }

    fn search(results: u32, reached: u64, from: Route) -> Deepening {
        let query = Query::new(crate::wire::gnutella::Wishes::default(), "amber", &[]);
        Deepening {
            query,
            from,
            hops: 0,
            until: Instant::ZERO,
            asked: Vec::from([from]),
            reached,
            results,
            steps: 0,
            before: 0,
            width: 0,
        }
    }

    #[test]
    fn the_rest_is_sought_where_it_should_be_if_all_servents_are_alike() {
        let config = Config { enough: 150, ..Config::default() };
        let share =
            |results, reached, left| search(results, reached, Route::LOCAL).share(left, &config);
        assert_eq!(share(50, 1_000, 4), 500, "two more for each that was reached, by four");
        assert_eq!(share(50, 1_001, 4), 501, "rounded up");
        assert_eq!(share(149, 1, 2), 0);
        assert_eq!(share(200, 1_000, 4), 0, "nothing is missing");
        assert_eq!(share(0, 9, 5), WIDEST / 5);
        assert_eq!((share(1, 9_000_000, 1), share(1, 0, 0)), (WIDEST, 149));
    }

    #[test]
    fn fewer_results_are_enough_for_a_leaf_when_half_of_the_neighbours_were_asked() {
        let config = Config { enough: 9, enough_rare: 3, ..Config::default() };
        let leaf = Route::new(1, 1);
        let enough = |results, from, left| search(results, 1, from).enough(left, &config);
        assert!(enough(3, leaf, 1) && !enough(2, leaf, 1) && !enough(3, leaf, 2));
        assert!(!enough(8, leaf, 2) && enough(9, leaf, 2));
        assert!(!enough(8, Route::LOCAL, 1) && enough(9, Route::LOCAL, 1));
    }
}
