//! The state of one file: who has which piece, who needs which, who could send
//! and who waits, all in an order that answers the next question without
//! examining every member.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::net::IpAddr;

use super::super::bits::PieceSet;
use super::super::io::FileSpec;
use super::super::rarity::Rarity;
use super::client::Origin;
use crate::time::{Duration, Instant};
use crate::wire::pdtp::Span;

/// A piece that failed, until it is chosen again (SW-14).
#[derive(Debug, Clone)]
pub(super) struct Retry {
    /// The uploaders that failed it.
    pub(super) tried: Vec<IpAddr>,
    /// Bytes that are there, and who sent them.
    pub(super) offset: u64,
    pub(super) earlier: Option<Origin>,
    /// It is still charged: a client gains nothing by reporting that a piece
    /// failed (SW-27).
    pub(super) charged: bool,
    /// The failure is the downloader's own claim, or follows from its silence.
    pub(super) own_word: bool,
}

/// The position of a member that could send: among the stalled, or the others,
/// of its mode.
pub(super) type UpKey = (usize, (u64, u64));
/// The position of a member that waits: among those with credit, or the
/// stalled.
pub(super) type DownKey = (usize, (u64, u64));

/// The lane of members with credit, and that of members without.
pub(super) const READY: usize = 0;
pub(super) const STALLED: usize = 1;

/// The class of a member that could send: by mode, and by whether it is
/// stalled.
pub(super) const fn up_class(active: bool, stalled: bool) -> usize {
    active as usize * 2 + !stalled as usize
}

/// A client on the file.
#[derive(Debug, Clone)]
pub(super) struct FileMember {
    pub(super) client: u32,
    pub(super) have: PieceSet,
    pub(super) held: u32,
    /// Pieces wanted and not here, in transfer or failed.
    pub(super) need: PieceSet,
    /// Number of wanted pieces that are not here.
    pub(super) wanted: u32,
    /// Pieces that failed, in the order in which they were first chosen.
    pub(super) failed: BTreeMap<(Instant, u32), Retry>,
    /// When it last received something, or started to want something.
    pub(super) waiting: Instant,
    /// Since when it needs pieces and has no credit.
    pub(super) stalled: Option<Instant>,
    pub(super) tie: u32,
    /// The age of the newest piece it holds or is about to hold: when that
    /// piece came into the swarm, counted in pieces.
    pub(super) newest: u32,
    /// Failed transfers from the source in a row, and when the source tries
    /// again.
    pub(super) faults: u32,
    pub(super) not_before: Instant,
    pub(super) active: bool,
    /// Its pieces count as available.
    pub(super) offered: bool,
    pub(super) up: Option<UpKey>,
    pub(super) down: Option<DownKey>,
    pub(super) fresh_up: bool,
    pub(super) fresh_down: bool,
    pub(super) announced: bool,
}

impl FileMember {
    pub(super) const fn waits(&self) -> bool {
        self.wanted > 0
    }
}

/// A file and all its members.
#[derive(Debug, Clone)]
pub(super) struct ManagedFile {
    pub(super) spec: FileSpec,
    pub(super) pieces: u32,
    pub(super) members: Vec<Option<FileMember>>,
    pub(super) vacant: Vec<u32>,
    /// Members that want something.
    pub(super) wanting: BTreeSet<u32>,
    /// For each piece: who has it and offers it, and who needs it.
    pub(super) holders: Vec<PieceSet>,
    pub(super) needers: Vec<PieceSet>,
    /// Copies, including those in transfer.
    pub(super) rarity: Rarity,
    /// When each piece came into the swarm, counted in pieces; 0 before.
    pub(super) ages: Vec<u32>,
    pub(super) youngest: u32,
    /// The members that could send, by [`up_class`]; the same as bits, by mode.
    pub(super) ups: [BTreeSet<(u64, u64)>; 4],
    pub(super) up_bits: [PieceSet; 2],
    /// The members that wait, by lane; the same as bits, by lane and mode.
    pub(super) downs: [BTreeSet<(u64, u64)>; 2],
    pub(super) down_bits: [[PieceSet; 2]; 2],
    /// Members with failed pieces and a free slot, by when the first was
    /// chosen.
    pub(super) retries: BTreeSet<(Instant, u32)>,
    /// Pieces that some member with a free slot may have, and pieces that some
    /// waiting member may need. Possibly too many, never too few.
    pub(super) supply: PieceSet,
    pub(super) demand: PieceSet,
    /// The members that have changed since the last selection.
    pub(super) fresh_ups: Vec<u32>,
    pub(super) fresh_downs: Vec<u32>,
    /// Members with credit that wait for a slot of any member (`seed2004`).
    pub(super) starved: BTreeSet<u32>,
    /// Downloads that one upload earns, in thousandths.
    pub(super) ratio: u32,
    /// Average time from the choice of a piece to its arrival.
    pub(super) piece_time: Option<Duration>,
    pub(super) tick: Option<Instant>,
    /// Grants since the ratio was last adjusted.
    pub(super) grants: u32,
    pub(super) dirty: bool,
}

impl ManagedFile {
    pub(super) fn new(spec: FileSpec, ratio: u32) -> Self {
        let pieces = spec.hashes.len() as u32;
        let none = || PieceSet::default();
        Self {
            spec,
            pieces,
            members: Vec::new(),
            vacant: Vec::new(),
            wanting: BTreeSet::new(),
            holders: alloc::vec![PieceSet::default(); pieces as usize],
            needers: alloc::vec![PieceSet::default(); pieces as usize],
            rarity: Rarity::new(pieces),
            ages: alloc::vec![0; pieces as usize],
            youngest: 0,
            ups: Default::default(),
            up_bits: [none(), none()],
            downs: Default::default(),
            down_bits: Default::default(),
            retries: BTreeSet::new(),
            supply: PieceSet::none(pieces),
            demand: PieceSet::none(pieces),
            fresh_ups: Vec::new(),
            fresh_downs: Vec::new(),
            starved: BTreeSet::new(),
            ratio,
            piece_time: None,
            tick: None,
            grants: 0,
            dirty: false,
        }
    }

    pub(super) fn member(&self, at: u32) -> &FileMember {
        self.members[at as usize].as_ref().expect("a member that a client refers to")
    }

    pub(super) fn member_mut(&mut self, at: u32) -> &mut FileMember {
        self.members[at as usize].as_mut().expect("a member that a client refers to")
    }

    /// Adds a client to the file.
    pub(super) fn join(&mut self, client: u32, active: bool, tie: u32, now: Instant) -> u32 {
        let member = FileMember {
            client,
            have: PieceSet::none(self.pieces),
            held: 0,
            need: PieceSet::none(self.pieces),
            wanted: 0,
            failed: BTreeMap::new(),
            waiting: now,
            stalled: None,
            tie,
            newest: 0,
            faults: 0,
            not_before: Instant::ZERO,
            active,
            offered: true,
            up: None,
            down: None,
            fresh_up: false,
            fresh_down: false,
            announced: false,
        };
        match self.vacant.pop() {
            Some(at) => {
                self.members[at as usize] = Some(member);
                at
            }
            None => {
                self.members.push(Some(member));
                self.members.len() as u32 - 1
            }
        }
    }

    /// How long a piece takes on this file.
    pub(super) fn piece_time(&self, before_any: Duration) -> Duration {
        self.piece_time.unwrap_or(before_any)
    }

    /// The byte range of a piece.
    pub(super) fn span(&self, piece: u32) -> (u64, u64) {
        let start = u64::from(piece) * self.spec.chunk;
        (start, start.saturating_add(self.spec.chunk).min(self.spec.size))
    }

    /// The pieces that a span touches, or with `whole` those that lie in it;
    /// `None` when it is not inside the file.
    pub(super) fn pieces_of(&self, span: Span, whole: bool) -> Option<core::ops::Range<u32>> {
        let end = span.end.unwrap_or(self.spec.size);
        if span.start > end || end > self.spec.size || (span.start == end && end > 0) {
            return None;
        }
        let chunk = self.spec.chunk;
        let (first, last) = if whole {
            let last = if end == self.spec.size { u64::from(self.pieces) } else { end / chunk };
            (span.start.div_ceil(chunk), last)
        } else {
            (span.start / chunk, end.div_ceil(chunk))
        };
        Some(first as u32..(last as u32).max(first as u32))
    }

    /// The piece that a span is, or is the beginning or end of.
    pub(super) fn piece_of(&self, span: Span) -> Option<u32> {
        let piece = u32::try_from(span.start / self.spec.chunk).ok()?;
        let end = span.end.unwrap_or(self.spec.size);
        let (_, last) = self.span(piece);
        (end <= last && span.start < end).then_some(piece)
    }

    /// A member has a piece, or will have it soon: updates the age of the
    /// newest piece that it can pass on.
    pub(super) fn renew(&mut self, at: u32, piece: u32) {
        let age = &mut self.ages[piece as usize];
        if *age == 0 {
            self.youngest += 1;
            *age = self.youngest;
        }
        let age = *age;
        let member = self.members[at as usize].as_mut().expect("a member");
        member.newest = member.newest.max(age);
    }

    /// Records that a member has a piece.
    pub(super) fn hold(&mut self, at: u32, piece: u32, counted: bool) {
        let member = self.members[at as usize].as_mut().expect("a member");
        if !member.have.insert(piece) {
            return;
        }
        member.held += 1;
        self.renew(at, piece);
        let member = self.members[at as usize].as_ref().expect("a member");
        let (offered, sends) = (member.offered, member.up.is_some());
        if offered {
            self.holders[piece as usize].insert(at);
            if !counted {
                self.rarity.more(piece);
            }
        } else if counted {
            self.rarity.fewer(piece);
        }
        if sends {
            self.supply.insert(piece);
            self.freshen_up(at);
        }
    }

    /// Records that a member does not have a piece any more.
    pub(super) fn release(&mut self, at: u32, piece: u32) {
        let member = self.members[at as usize].as_mut().expect("a member");
        if !member.have.remove(piece) {
            return;
        }
        member.held -= 1;
        if member.offered {
            self.holders[piece as usize].remove(at);
            self.rarity.fewer(piece);
        }
    }

    /// Sets whether a member's pieces count as available (SW-25).
    pub(super) fn offer(&mut self, at: u32, offered: bool) {
        let member = self.members[at as usize].as_mut().expect("a member");
        if member.offered == offered {
            return;
        }
        member.offered = offered;
        for piece in member.have.iter() {
            if offered {
                self.holders[piece as usize].insert(at);
                self.rarity.more(piece);
            } else {
                self.holders[piece as usize].remove(at);
                self.rarity.fewer(piece);
            }
        }
    }

    /// Sets whether a member needs a piece.
    pub(super) fn need(&mut self, at: u32, piece: u32, needed: bool) {
        let member = self.members[at as usize].as_mut().expect("a member");
        if needed {
            member.need.insert(piece);
            self.needers[piece as usize].insert(at);
            if member.down.is_some() {
                self.demand.insert(piece);
                self.freshen_down(at);
            }
        } else {
            member.need.remove(piece);
            self.needers[piece as usize].remove(at);
        }
    }

    /// Changes the number of wanted pieces that are not here.
    pub(super) fn want(&mut self, at: u32, more: u32, less: u32) {
        let member = self.members[at as usize].as_mut().expect("a member");
        member.wanted = member.wanted + more - less;
        let wanted = member.wanted > 0;
        if wanted {
            self.wanting.insert(at);
        } else {
            self.wanting.remove(&at);
        }
    }

    pub(super) fn freshen_up(&mut self, at: u32) {
        let member = self.members[at as usize].as_mut().expect("a member");
        if !core::mem::replace(&mut member.fresh_up, true) {
            self.fresh_ups.push(at);
        }
        self.dirty = true;
    }

    pub(super) fn freshen_down(&mut self, at: u32) {
        let member = self.members[at as usize].as_mut().expect("a member");
        if !core::mem::replace(&mut member.fresh_down, true) {
            self.fresh_downs.push(at);
        }
        self.dirty = true;
    }

    /// Sets or clears a member's position among those that could send.
    pub(super) fn set_up(&mut self, at: u32, key: Option<UpKey>) {
        let member = self.members[at as usize].as_mut().expect("a member");
        let before = member.up;
        if before == key {
            return;
        }
        member.up = key;
        if let Some((class, key)) = before {
            self.ups[class].remove(&key);
            self.up_bits[class / 2].remove(at);
        }
        if let Some((class, key)) = key {
            self.ups[class].insert(key);
            self.up_bits[class / 2].insert(at);
            if before.is_none_or(|(before, _)| before / 2 != class / 2) {
                let member = self.members[at as usize].as_ref().expect("a member");
                self.supply.add(&member.have);
                self.freshen_up(at);
            }
        }
    }

    /// Sets or clears a member's position among those that wait.
    pub(super) fn set_down(&mut self, at: u32, key: Option<DownKey>) {
        let member = self.members[at as usize].as_mut().expect("a member");
        let before = member.down;
        if before == key {
            return;
        }
        let mode = usize::from(member.active);
        member.down = key;
        if let Some((lane, key)) = before {
            self.downs[lane].remove(&key);
            self.down_bits[lane][0].remove(at);
            self.down_bits[lane][1].remove(at);
        }
        if let Some((lane, key)) = key {
            self.downs[lane].insert(key);
            self.down_bits[lane][mode].insert(at);
            if before.is_none_or(|(before, _)| before > lane) {
                let member = self.members[at as usize].as_ref().expect("a member");
                self.demand.add(&member.need);
                self.freshen_down(at);
            }
        }
    }
}

/// The member a key belongs to: the low bits of its second half are its
/// number.
pub(super) const fn member_of(key: &(u64, u64)) -> u32 {
    key.1 as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// A span, and the bytes it means, of a file of so many bytes.
    fn span(dice: &mut Rng, size: u64) -> (Span, core::ops::Range<u64>) {
        let (start, end) = (dice.below(size + 2), dice.below(size + 3));
        let end = Some(end).filter(|_| dice.chance(4, 5));
        (Span { start, end }, start..end.unwrap_or(size))
    }

    #[test]
    fn a_span_touches_and_holds_the_pieces_that_a_look_at_each_byte_finds() {
        let mut dice = Rng::new(1);
        for _ in 0..4_000 {
            let (size, chunk) = (dice.below(60), dice.between(1, 25));
            let hashes = (0..size.div_ceil(chunk)).map(|_| crate::wire::pdtp::Hash([0; 32]));
            let (url, hashes) = ("f".into(), hashes.collect());
            let file = ManagedFile::new(FileSpec { url, size, chunk, hashes, sha256: None }, 2_000);
            let (span, bytes) = span(&mut dice, size);
            let inside = bytes.end <= size && (bytes.start < bytes.end || bytes == (0..0));
            let piece = |n: u32| (0..size).filter(move |byte| byte / chunk == u64::from(n));
            let all = 0..size.div_ceil(chunk) as u32;
            let touched = all.clone().filter(|n| piece(*n).any(|byte| bytes.contains(&byte)));
            let held = all.clone().filter(|n| piece(*n).all(|byte| bytes.contains(&byte)));
            let found = file.pieces_of(span, false);
            assert_eq!(found.map(Vec::from_iter), inside.then(|| touched.clone().collect()));
            let found = file.pieces_of(span, true);
            assert_eq!(found.map(Vec::from_iter), inside.then(|| held.collect()), "{span:?}");
            let one = touched.clone().next().filter(|_| inside && touched.count() == 1);
            assert_eq!(file.piece_of(span), one, "{span:?} of {size} by {chunk}");
        }
    }
}
