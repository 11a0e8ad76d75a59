//! A table in two generations.
//!
//! An entry lives for at least one life and at most two: when the newer
//! generation has lived its life, the older one is dropped as a whole.

use alloc::vec::Vec;
use core::fmt::Debug;
use core::hash::Hasher as _;

use super::generation::{Generation, Mark, Shard};
use super::route::Route;
use crate::engine::Fx;
use crate::id::Guid;
use crate::keyed::{IdKey, Key};
use crate::rng::Rng;
use crate::time::{Duration, Instant};

/// Shards of a dropped generation that are freed in one step.
const SWEEP: usize = 8;
/// Time until the next step.
const BREATH: Duration = Duration::from_millis(1);

/// Computes the keys of the tables.
#[derive(Debug, Clone)]
pub struct Marks {
    /// For GUIDs, which every message has.
    ids: IdKey,
    /// For everything else.
    parts: Key,
}

impl Marks {
    /// With secrets drawn from `rng`.
    #[must_use]
    pub fn new(rng: &mut Rng) -> Self {
        let parts = Key::new(rng);
        // From a fork of the random stream: the router's own numbers stay the
        // same.
        Self { ids: IdKey::new(&mut rng.fork("marks", 0)), parts }
    }

    /// The key of a GUID.
    #[must_use]
    pub fn of_id(&self, id: Guid) -> Mark {
        let (first, second) = id.0.split_at(8);
        let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
        Mark::from_hash(self.ids.hash(word(first), word(second)))
    }

    /// The key of several components together (RT-15).
    #[must_use]
    pub fn derive_mark(&self, parts: &[&[u8]]) -> Mark {
        if let [part] = parts
            && let Ok(id) = <[u8; 16]>::try_from(*part)
        {
            return self.of_id(Guid(id));
        }
        let mut hasher = self.parts.wide();
        for part in parts {
            hasher.write(part);
        }
        // The boundaries of the components count too.
        for part in parts {
            hasher.write(&(part.len() as u32).to_le_bytes());
        }
        Mark::from_hash(crate::keyed::finish(&hasher))
    }
}

/// A table in two generations.
#[derive(Debug, Clone)]
pub struct Memory {
    life: Duration,
    quota: u32,
    young: Generation,
    old: Generation,
    /// When the generations change; `None` while the table is empty.
    turn: Option<Instant>,
    /// What each slot has inserted into the newer generation.
    spent: Vec<u32>,
    /// Shards of a dropped generation that are not freed yet, and when to
    /// continue.
    dying: Vec<Shard>,
    sweep: Option<Instant>,
}

/// A slot has used up its quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full;

impl Memory {
    /// The minimum lifetime of an entry.
    pub(crate) const fn life(&self) -> Duration {
        self.life
    }

    /// The time between two entries of a slot that spreads its quota evenly.
    pub(crate) fn pause(&self) -> Duration {
        self.life.ratio(1, self.quota.max(1).into())
    }

    /// An empty table. `quota` is what one slot may insert during a life.
    #[must_use]
    pub fn new(life: Duration, quota: u32) -> Self {
        Self {
            life,
            quota,
            young: Generation::default(),
            old: Generation::default(),
            turn: None,
            spent: Vec::new(),
            dying: Vec::new(),
            sweep: None,
        }
    }

    /// All that its future depends on, whatever order it was filled in.
    pub(crate) fn future(&self) -> impl Debug + use<> {
        let entries = [self.young.sorted(), self.old.sorted()];
        (self.life, self.turn, self.spent.clone(), entries, self.dying.len(), self.sweep)
    }

    /// The route of a key.
    #[must_use]
    pub fn get(&self, mark: Mark) -> Option<Route> {
        self.young.get(mark).or_else(|| self.old.get(mark))
    }

    /// The route of a key, whether it is in the newer generation, and when that
    /// generation is dropped.
    pub(crate) fn find(&self, mark: Mark) -> Option<(Route, bool, Option<Instant>)> {
        if let Some(route) = self.young.get(mark) {
            return Some((route, true, self.turn.map(|turn| turn + self.life)));
        }
        self.old.get(mark).map(|route| (route, false, self.turn))
    }

    pub(crate) fn get_mut(&mut self, mark: Mark) -> Option<&mut Route> {
        match self.young.get_mut(mark) {
            Some(route) => Some(route),
            None => self.old.get_mut(mark),
        }
    }

    /// Inserts a key that [`Memory::get`] did not find.
    ///
    /// # Errors
    /// When the quota of its slot is used up.
    pub fn put(&mut self, now: Instant, mark: Mark, route: Route) -> Result<(), Full> {
        self.charge(route)?;
        self.fresh(now, mark, route);
        Ok(())
    }

    /// Extends the life of an entry from now, possibly with another route.
    pub(crate) fn renew(&mut self, now: Instant, mark: Mark, route: Route) -> Result<(), Full> {
        if let Some(known) = self.young.get_mut(mark) {
            *known = route;
            return Ok(());
        }
        self.put(now, mark, route)
    }

    /// Inserts a number of our own, which is charged to no slot.
    pub(crate) fn fresh(&mut self, now: Instant, mark: Mark, route: Route) {
        self.turn.get_or_insert(now + self.life);
        self.young.insert(mark, route);
    }

    fn charge(&mut self, route: Route) -> Result<(), Full> {
        let Some(slot) = route.slot() else { return Ok(()) };
        let slot = slot as usize;
        if slot >= self.spent.len() {
            self.spent.resize(slot + 1, 0);
        }
        if self.spent[slot] >= self.quota {
            return Err(Full);
        }
        self.spent[slot] += 1;
        Ok(())
    }

    /// What a slot has inserted since the generations changed.
    pub(crate) fn spent(&self, slot: u32) -> u32 {
        self.spent.get(slot as usize).copied().unwrap_or(0)
    }

    /// The number of entries, newer and older.
    #[must_use]
    #[allow(clippy::len_without_is_empty)] // Of two there are two.
    pub const fn len(&self) -> (usize, usize) {
        (self.young.len(), self.old.len())
    }

    /// Memory of its tables, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.young.bytes() + self.old.bytes()
    }

    /// When its generations change.
    pub(crate) const fn turn(&self) -> Option<Instant> {
        self.turn
    }

    /// The next deadline.
    #[must_use]
    pub fn next(&self) -> Option<Instant> {
        [self.turn, self.sweep].into_iter().flatten().min()
    }

    /// Runs what is due; true when the generations have changed.
    pub fn run(&mut self, now: Instant) -> bool {
        let mut turned = false;
        while let Some(turn) = self.turn.filter(|turn| *turn <= now) {
            let old = core::mem::take(&mut self.young);
            let dead = core::mem::replace(&mut self.old, old);
            self.dying.append(&mut dead.into_shards());
            self.spent.fill(0);
            self.turn = (self.old.len() > 0).then_some(turn + self.life);
            turned = true;
        }
        if turned {
            self.sweep = Some(now + BREATH).filter(|_| !self.dying.is_empty());
        } else if self.sweep.is_some_and(|sweep| sweep <= now) {
            let left = self.dying.len().saturating_sub(SWEEP);
            self.dying.truncate(left);
            self.sweep = (left > 0).then_some(now + BREATH);
            if left == 0 {
                self.dying = Vec::new();
            }
        }
        turned
    }
}

/// The effects of the router.
pub(crate) type RoutingEffects = Fx<crate::routing::Output, crate::routing::Event>;

#[cfg(test)]
mod tests {
    use super::*;

    fn route(slot: u32) -> Route {
        Route::new(slot, 0)
    }

    #[test]
    fn rt_15_marks_are_keyed_and_keep_their_components_apart() {
        let (one, two) = (Marks::new(&mut Rng::new(1)), Marks::new(&mut Rng::new(2)));
        assert_ne!(one.derive_mark(&[b"guid"]), two.derive_mark(&[b"guid"]));
        assert_ne!(one.derive_mark(&[b"ab", b"c"]), one.derive_mark(&[b"a", b"bc"]));
        assert_ne!(
            one.derive_mark(&[b"a", b"b"]),
            one.derive_mark(&[b"b", b"a"]),
            "no sum, no XOR"
        );
        assert_eq!(one.derive_mark(&[b"a", b"b"]), one.derive_mark(&[b"a", b"b"]));
    }

    #[test]
    fn rt_5_an_entry_lives_one_life_at_least_and_two_at_most() {
        let marks = Marks::new(&mut Rng::new(1));
        let life = Duration::from_secs(600);
        for offset in [0, 1, 299, 599] {
            let mut memory = Memory::new(life, 10);
            let mut now = Instant::from_secs(5);
            let mark = marks.derive_mark(&[b"x"]);
            memory.put(now, marks.derive_mark(&[b"first"]), route(1)).unwrap();
            now += Duration::from_secs(offset);
            memory.put(now, mark, route(2)).unwrap();
            let (begin, mut gone) = (now, None);
            while gone.is_none() {
                now += Duration::from_secs(1);
                while memory.next().is_some_and(|at| at <= now) {
                    memory.run(now);
                }
                gone = memory.get(mark).is_none().then(|| now.since(begin).as_secs());
            }
            assert!((600..=1_200).contains(&gone.unwrap()), "{gone:?}");
        }
    }

    #[test]
    fn a_long_pause_turns_as_often_as_it_must_and_frees_everything() {
        let marks = Marks::new(&mut Rng::new(1));
        let mut memory = Memory::new(Duration::from_secs(10), u32::MAX);
        for n in 0..20_000_u32 {
            memory.put(Instant::ZERO, marks.derive_mark(&[&n.to_le_bytes()]), route(1)).unwrap();
        }
        assert!(memory.run(Instant::from_secs(100)));
        assert_eq!(memory.len(), (0, 0));
        let mut now = Instant::from_secs(100);
        while let Some(next) = memory.next() {
            assert!(next > now);
            now = next;
            let left = memory.dying.len();
            memory.run(now);
            assert_eq!(memory.dying.len(), left.saturating_sub(SWEEP), "step by step");
        }
        assert_eq!(memory.dying.capacity(), 0);
        assert!(memory.dying.is_empty() && now.since(Instant::from_secs(100)).as_secs() == 0);
    }

    #[test]
    fn a_quota_is_a_slots_own_and_comes_back_with_the_turn() {
        let marks = Marks::new(&mut Rng::new(1));
        let mut memory = Memory::new(Duration::from_secs(10), 2);
        let mut put = |now, n: u8, slot| memory.put(now, marks.derive_mark(&[&[n]]), route(slot));
        assert_eq!((put(Instant::ZERO, 1, 5), put(Instant::ZERO, 2, 5)), (Ok(()), Ok(())));
        assert_eq!(put(Instant::ZERO, 3, 5), Err(Full));
        assert_eq!(put(Instant::ZERO, 4, 6), Ok(()));
        memory.run(Instant::from_secs(10));
        assert_eq!(
            memory.put(Instant::from_secs(10), marks.derive_mark(&[&[5]]), route(5)),
            Ok(())
        );
        assert_eq!(memory.spent(5), 1);
    }

    #[test]
    fn an_entry_takes_its_memory_in_either_generation() {
        let marks = Marks::new(&mut Rng::new(1));
        let mut memory = Memory::new(Duration::from_secs(10), u32::MAX);
        assert_eq!(memory.bytes(), 0);
        let fill = |memory: &mut Memory, now, from: u32| {
            for n in from..from + 1_000 {
                memory.put(now, marks.derive_mark(&[&n.to_le_bytes()]), route(1)).unwrap();
            }
            memory.bytes()
        };
        let young = fill(&mut memory, Instant::ZERO, 0);
        assert!(young >= 16 * 1_000);
        memory.run(Instant::from_secs(10));
        assert_eq!((memory.len(), memory.bytes()), ((0, 1_000), young));
        assert_eq!(fill(&mut memory, Instant::from_secs(11), 1_000), 2 * young);
    }

    #[test]
    fn what_is_renewed_lives_on_with_its_new_route_and_costs_once_a_life() {
        let (marks, now) = (Marks::new(&mut Rng::new(1)), Instant::from_secs(1));
        let mut memory = Memory::new(Duration::from_secs(10), 1);
        let (mark, other) = (marks.derive_mark(&[b"x"]), marks.derive_mark(&[b"y"]));
        memory.renew(now, mark, route(1)).unwrap();
        let until = now + Duration::from_secs(20);
        assert_eq!(memory.find(mark), Some((route(1), true, Some(until))));
        memory.renew(now, mark, route(2)).unwrap();
        assert_eq!((memory.get(mark), memory.len()), (Some(route(2)), (1, 0)));
        assert_eq!(memory.renew(now, other, route(1)), Err(Full));
        assert!(memory.run(now + Duration::from_secs(10)));
        assert_eq!(memory.find(mark), Some((route(2), false, Some(until))));
        *memory.get_mut(mark).unwrap() = route(3);
        assert_eq!(memory.get(mark), Some(route(3)), "an older one can be changed too");
        assert_eq!(
            (memory.get(other), memory.find(other), memory.get_mut(other)),
            (None, None, None)
        );
        assert_eq!((memory.pause(), memory.life()), (Duration::from_secs(10), memory.life));
    }
}
