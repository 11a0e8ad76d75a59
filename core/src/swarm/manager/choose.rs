//! Selection: which uploader a piece comes from, and which piece it is.
//!
//! The orders of SW-15 and SW-18 to SW-20 are kept as sorted sets, so the first
//! match is found by walking them from the front. A walk ends after [`WALK`]
//! members; from there on the search goes by pieces: one that a sender may have
//! and the other side may need is looked up in its bit set of holders or
//! needers. A piece found to have none is not looked at again until a client
//! with that piece comes, so no selection examines every member.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::super::bits::PieceSet;
use super::super::event::{Funnel, Led, Pick};
use super::super::rarity::Rarity;
use super::file::{ManagedFile, READY, STALLED, member_of, up_class};
use crate::rng::Rng;
use crate::time::Instant;

/// Members examined one by one before the search goes by pieces.
const WALK: usize = 48;

/// The result of a selection.
#[derive(Debug, Clone, Copy)]
pub(super) struct SourceChoice {
    /// The member on the other side.
    pub(super) member: u32,
    pub(super) piece: u32,
    pub(super) why: Pick,
}

/// Which of the matching pieces to choose.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taste {
    pub(super) rarest: bool,
    /// Walk to the end, however long it takes (`seed2004`).
    pub(super) patient: bool,
}

impl Taste {
    const fn walk(self) -> usize {
        if self.patient { usize::MAX } else { WALK }
    }

    fn piece(
        self,
        file: &ManagedFile,
        have: &PieceSet,
        need: &PieceSet,
        rng: &mut Rng,
    ) -> Option<u32> {
        if self.rarest {
            file.rarity.rarest(have, need, rng)
        } else {
            Rarity::random(have, need, rng)
        }
    }
}

/// Selects an uploader for any piece the member needs (SW-15, SW-18).
pub(super) fn uploader(
    file: &mut ManagedFile,
    down: u32,
    taste: Taste,
    rng: &mut Rng,
) -> Option<SourceChoice> {
    let modes: &[bool] = if file.member(down).active { &[false, true] } else { &[true] };
    for &active in modes {
        for stalled in [true, false] {
            let class = &file.ups[up_class(active, stalled)];
            let need = &file.member(down).need;
            let fits = |up: &u32| *up != down && file.member(*up).have.meets(need);
            let mut walk = class.iter().take(taste.walk()).map(member_of);
            let Some(up) = walk.find(fits) else { continue };
            let piece = taste.piece(file, &file.member(up).have, need, rng)?;
            let why = if stalled { Pick::Stalled } else { Pick::Fastest };
            return Some(SourceChoice { member: up, piece, why });
        }
        let longer = |stalled| file.ups[up_class(active, stalled)].len() > taste.walk();
        if (longer(true) || longer(false))
            && let Some(choice) = uploader_by_piece(file, down, active, rng)
        {
            return Some(choice);
        }
    }
    None
}

fn uploader_by_piece(
    file: &mut ManagedFile,
    down: u32,
    active: bool,
    rng: &mut Rng,
) -> Option<SourceChoice> {
    let mode = usize::from(active);
    loop {
        let need = &file.member(down).need;
        let piece = file.rarity.rarest(need, &file.supply, rng)?;
        let holders = &file.holders[piece as usize];
        if let Some(up) = holders.some_of(&file.up_bits[mode], rng) {
            return Some(SourceChoice { member: up, piece, why: pick(file, up) });
        }
        if holders.meets(&file.up_bits[1 - mode]) {
            // A member of the other mode has it: it cannot serve this member,
            // but the piece is still in supply.
            let found = need.both(&file.supply).find_map(|piece| {
                let holders = &file.holders[piece as usize];
                holders.some_of(&file.up_bits[mode], rng).map(|up| (up, piece))
            });
            return found.map(|(member, piece)| SourceChoice {
                member,
                piece,
                why: pick(file, member),
            });
        }
        file.supply.remove(piece);
    }
}

fn pick(file: &ManagedFile, up: u32) -> Pick {
    let stalled = file.member(up).up.is_some_and(|(class, _)| class % 2 == 0);
    if stalled { Pick::Stalled } else { Pick::Fastest }
}

/// Selects an uploader for one piece that failed before, other than those that
/// failed it (SW-14). The member itself is none: it does not have the piece.
pub(super) fn uploader_again(
    file: &ManagedFile,
    down: u32,
    piece: u32,
    failed: impl Fn(u32) -> bool,
    taste: Taste,
) -> Option<SourceChoice> {
    let modes: &[bool] = if file.member(down).active { &[false, true] } else { &[true] };
    for &active in modes {
        for stalled in [true, false] {
            let class = &file.ups[up_class(active, stalled)];
            let mut walk = class.iter().take(taste.walk()).map(member_of);
            let fits = |up: &u32| file.member(*up).have.contains(piece) && !failed(*up);
            if let Some(member) = walk.find(fits) {
                let why = if stalled { Pick::Stalled } else { Pick::Fastest };
                return Some(SourceChoice { member, piece, why });
            }
        }
        let holders = &file.holders[piece as usize];
        let mut both = holders.both(&file.up_bits[usize::from(active)]);
        if let Some(member) = both.find(|up| !failed(*up)) {
            return Some(SourceChoice { member, piece, why: pick(file, member) });
        }
    }
    None
}

/// Selects a downloader for a member that could send: the first with credit,
/// otherwise the longest stalled (§4, both passes).
pub(super) fn downloader(
    file: &mut ManagedFile,
    up: u32,
    taste: Taste,
    rng: &mut Rng,
) -> Option<SourceChoice> {
    let any = file.member(up).active;
    for lane in [READY, STALLED] {
        let have = &file.member(up).have;
        let fits = |down: &u32| {
            let member = file.member(*down);
            *down != up && (any || member.active) && member.need.meets(have)
        };
        let found = file.downs[lane].iter().take(WALK).map(member_of).find(fits);
        if let Some(down) = found {
            let piece = taste.piece(file, have, &file.member(down).need, rng)?;
            return Some(SourceChoice { member: down, piece, why: pick(file, up) });
        }
        if file.downs[lane].len() > WALK
            && let Some(choice) = downloader_by_piece(file, up, lane, rng)
        {
            return Some(choice);
        }
    }
    None
}

fn downloader_by_piece(
    file: &mut ManagedFile,
    up: u32,
    lane: usize,
    rng: &mut Rng,
) -> Option<SourceChoice> {
    let member = file.member(up);
    let modes: &[usize] = if member.active { &[0, 1] } else { &[1] };
    let mut unwanted = Vec::new();
    let mut found = None;
    for piece in member.have.both(&file.demand) {
        let needers = &file.needers[piece as usize];
        let waiting = |mode: &usize| needers.some_of(&file.down_bits[lane][*mode], rng);
        found = modes.iter().find_map(waiting).map(|down| (down, piece));
        if found.is_some() {
            break;
        }
        if !file.down_bits.iter().flatten().any(|waiting| needers.meets(waiting)) {
            unwanted.push(piece);
        }
    }
    for piece in unwanted {
        file.demand.remove(piece);
    }
    found.map(|(member, piece)| SourceChoice { member, piece, why: pick(file, up) })
}

/// Selects a downloader for a piece that no client has: the first waiting member
/// that could pass it on to all, otherwise the first that waits.
pub(super) fn for_unseen(file: &ManagedFile, now: Instant, rng: &mut Rng) -> Option<SourceChoice> {
    for lane in [READY, STALLED] {
        for active in [true, false] {
            let walk = file.downs[lane].iter().take(WALK).map(member_of);
            let fits = |down: &u32| {
                let member = file.member(*down);
                member.active == active && member.not_before <= now
            };
            for down in walk.filter(fits) {
                if let Some(piece) = file.rarity.unseen(&file.member(down).need, rng) {
                    return Some(SourceChoice { member: down, piece, why: Pick::Unseen });
                }
            }
        }
    }
    None
}

/// The selection a funnel describes.
pub(super) struct Question {
    pub(super) down: u32,
    pub(super) up: Option<u32>,
    pub(super) piece: u32,
    /// Only that piece was searched for: it failed before (SW-14).
    pub(super) single: bool,
    pub(super) led: Led,
}

/// Counts a selection in numbers, by examining every member.
pub(super) fn funnel(file: &ManagedFile, question: &Question) -> Funnel {
    let Question { down, up, piece, single, led } = *question;
    let member = file.member(down);
    let mut need = if single { PieceSet::none(file.pieces) } else { member.need.clone() };
    need.insert(piece);
    let classes = (0..4).map(|class| {
        let reachable = member.active || class >= 2;
        let all = file.ups[class].iter().map(member_of).filter(|up| *up != down && reachable);
        let useful = all.clone().filter(|up| file.member(*up).have.meets(&need)).count();
        (all.count() as u32, useful as u32)
    });
    let counts: Vec<(u32, u32)> = classes.collect();
    let passive = counts[0].1 + counts[1].1;
    let by_passive = up.map_or(passive > 0, |up| !file.member(up).active);
    let copies = file.rarity.copies(piece);
    let could_give = |wanted: &u32| match up {
        Some(up) => file.member(up).have.contains(*wanted),
        None => file.rarity.copies(*wanted) == 0,
    };
    let given: Vec<u32> = need.iter().filter(could_give).collect();
    Funnel {
        needed: need.len(),
        reachable: counts.iter().map(|c| c.0).sum(),
        useful: counts.iter().map(|c| c.1).sum(),
        passive,
        stalled: if by_passive { counts[0].1 } else { counts[2].1 },
        pieces: given.len() as u32,
        rarest: given.iter().filter(|other| file.rarity.copies(**other) == copies).count() as u32,
        copies,
        // The chosen member is waiting, if only for a piece that failed.
        waiting: up.map_or(0, |up| waiting_for(file, up).max(1)),
        led,
    }
}

/// How many members wait and could use what a member has.
fn waiting_for(file: &ManagedFile, up: u32) -> u32 {
    let giver = file.member(up);
    let all = file.downs.iter().flat_map(BTreeSet::iter).map(member_of);
    let fits = |down: &u32| {
        let member = file.member(*down);
        *down != up && (giver.active || member.active) && member.need.meets(&giver.have)
    };
    all.filter(fits).count() as u32
}
