//! What if: branches of a recording. One thing that the node was given is lost,
//! later, or comes twice; the rest is what was recorded.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use servent_core::node::{ConnInput, DiskInput, Input, MessageInput};
use servent_core::time::{Duration, Instant};
use servent_core::trace::NodeId;
use servent_core::trace::branch::{BranchPoint, InputChange, altered};
use servent_core::trace::player::Player;
use wasm_bindgen::JsError;

use super::recorded::Take;
use crate::lab::{BranchInfo, Pin, PinKind};
use crate::value::refused;

/// The most branches of one recording.
const MOST: usize = 16;

/// What is changed.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum BranchAction {
    /// The `n`-th datagram from another end.
    Drop {
        from: NodeId,
        to: NodeId,
        n: u32,
    },
    Delay {
        from: NodeId,
        to: NodeId,
        n: u32,
        by: Duration,
    },
    Duplicate {
        from: NodeId,
        to: NodeId,
        n: u32,
        by: Duration,
    },
    /// What led to a record.
    Lose {
        record: u32,
    },
    Late {
        record: u32,
        by: Duration,
    },
}

/// What led to a record.
#[derive(Serialize)]
pub(super) struct BranchCause {
    what: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    who: Option<String>,
}

/// What led to a record; `None` where that is not on the tape.
pub(super) fn led_to(player: &Player, i: u32) -> Option<BranchCause> {
    let (_, input) = player.given(player.led_to(i as usize)?)?;
    let (what, who) = input.map_or(("timer", None), cause);
    Some(BranchCause { what, who })
}

fn cause(input: &Input) -> (&'static str, Option<String>) {
    match input {
        Input::Messages(MessageInput::Datagrams { from, .. }) => {
            ("datagram", Some(from.to_string()))
        }
        Input::Connection(_, ConnInput::Accepted { peer, .. }) => {
            ("arrival", Some(peer.to_string()))
        }
        Input::Connection(_, ConnInput::Dialed { .. }) => ("dial", None),
        Input::Connection(_, ConnInput::Bytes { .. }) => ("connection", None),
        Input::Command(_) => ("command", None),
        Input::Disk(DiskInput::Shared(_) | DiskInput::Unshared { .. }) => ("file", None),
        _ => ("own", None),
    }
}

/// A branch.
#[derive(Default)]
struct Branch {
    parent: Option<(usize, Instant)>,
    pins: Vec<Pinned>,
    /// What it keeps while another is in use.
    take: Take,
}

/// A change, on the line of time.
#[derive(Clone)]
struct Pinned {
    at: Instant,
    seq: u64,
    key: &'static str,
    args: Value,
}

/// All branches: the first is what was recorded.
pub(super) struct Branches {
    all: Vec<Branch>,
    used: usize,
}

impl Default for Branches {
    fn default() -> Self {
        Self { all: vec![Branch::default()], used: 0 }
    }
}

impl Branches {
    /// True while one of them is in use.
    pub(super) const fn is_off(&self) -> bool {
        self.used != 0
    }

    /// What was recorded.
    pub(super) fn main<'a>(&'a mut self, used: &'a mut Take) -> &'a mut Take {
        if self.used == 0 { used } else { &mut self.all[0].take }
    }

    fn find_take<'a>(&'a self, used: &'a Take, id: usize) -> Option<&'a Take> {
        let branch = self.all.get(id)?;
        Some(if id == self.used { used } else { &branch.take })
    }

    /// What was recorded, to be read.
    pub(super) fn recorded<'a>(&'a self, used: &'a Take) -> &'a Player {
        if self.used == 0 { &used.player } else { &self.all[0].take.player }
    }

    /// Opens a branch of the one in use, and uses it.
    pub(super) fn branch(&mut self, used: &mut Take, act: &BranchAction) -> Result<u32, JsError> {
        if self.all.len() >= MOST {
            return Err(refused(format!("there are {MOST} branches already")));
        }
        let (place, change) = place(used, act)?;
        let player = altered(&used.player, place, change);
        let player = player.ok_or_else(|| refused("nothing else could have happened there"))?;
        let (at, input) = used.player.given(place.input).unwrap_or_default();
        let mut take = Take::new(player);
        take.as_of(used);
        let known = take.player.records_until(Instant::from_micros(at.as_micros().max(1) - 1));
        let (what, who) = input.map_or(("timer", None), cause);
        let key = match change {
            InputChange::Lose => "whatif.lost",
            InputChange::Delay(_) => "whatif.late",
            InputChange::Twice(_) => "whatif.twice",
        };
        let args = json!({ "what": what, "who": who, "node": 0 });
        let mut pins = self.all[self.used].pins.clone();
        pins.push(Pinned { at, seq: known as u64, key, args });
        let id = self.all.len();
        self.all.push(Branch { parent: Some((self.used, at)), pins, take });
        self.switch(used, id);
        Ok(id as u32)
    }

    /// Uses another at the same instant; false when there is none.
    pub(super) fn switch(&mut self, used: &mut Take, id: usize) -> bool {
        if id >= self.all.len() {
            return false;
        }
        if id != self.used {
            let now = used.player.now();
            let next = std::mem::take(&mut self.all[id].take);
            self.all[self.used].take = std::mem::replace(used, next);
            self.used = id;
            used.player.seek(now);
        }
        true
    }

    /// All of them.
    pub(super) fn list(&self) -> Vec<BranchInfo<'_>> {
        let info = |(id, branch): (usize, &Branch)| {
            let (parent, at) = branch.parent.unzip();
            let name = if id == 0 { "main" } else { "" };
            BranchInfo { id, parent, at: at.unwrap_or(Instant::ZERO), name }
        };
        self.all.iter().enumerate().map(info).collect()
    }

    /// What was changed on the branch in use.
    pub(super) fn pins(&self) -> Vec<Pin> {
        let pin = |pinned: &Pinned| Pin {
            at: pinned.at,
            seq: pinned.seq,
            kind: PinKind::Fault,
            key: pinned.key.to_owned(),
            args: pinned.args.clone(),
        };
        self.all[self.used].pins.iter().map(pin).collect()
    }

    /// The first record in which two of them differ.
    pub(super) fn divergence(&self, used: &Take, a: usize, b: usize) -> Option<u32> {
        let (a, b) = (&self.find_take(used, a)?.player, &self.find_take(used, b)?.player);
        let told = |player: &Player, i| {
            player.record(i).map(|record| (record.at, Cow::from(record.event.to_string())))
        };
        let most = a.count().max(b.count());
        (0..most).find(|i| told(a, *i) != told(b, *i)).map(|i| i as u32)
    }
}

/// Where that is, and what becomes of it.
fn place(take: &Take, act: &BranchAction) -> Result<(BranchPoint, InputChange), JsError> {
    let datagram = |from: NodeId, to: NodeId, n| {
        if to != NodeId(0) {
            return Err(refused("what became of it at the other end is not on this recording"));
        }
        let ends = take.ends.as_ref();
        let place = ends.and_then(|ends| ends.place(from, n));
        place.ok_or_else(|| refused("there is no such datagram"))
    };
    let record = |i: u32| {
        let input = take.player.led_to(i as usize);
        input.map(BranchPoint::at_input).ok_or_else(|| refused("there is no such record"))
    };
    Ok(match *act {
        BranchAction::Drop { from, to, n } => (datagram(from, to, n)?, InputChange::Lose),
        BranchAction::Delay { from, to, n, by } => (datagram(from, to, n)?, InputChange::Delay(by)),
        BranchAction::Duplicate { from, to, n, by } => {
            (datagram(from, to, n)?, InputChange::Twice(by))
        }
        BranchAction::Lose { record: i } => (record(i)?, InputChange::Lose),
        BranchAction::Late { record: i, by } => (record(i)?, InputChange::Delay(by)),
    })
}
