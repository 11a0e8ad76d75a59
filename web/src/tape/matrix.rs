//! The clients of a recorded coordinator by pieces, for the page.

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::{Float64Array, Uint8Array, Uint32Array};
use servent_core::id::ConnId;
use servent_core::swarm::manager::{ClientView, ManagedFileView, View};
use servent_core::time::{Duration, Instant};
use servent_sim::swarm::{Cell, Result};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use super::clients::Clients;
use super::recorded::Recorded;
use super::several::Several;
use super::{Tape, Tapes};
use crate::lab::{Cast, Run, Watching as _};
use crate::swarm::Totals;
use crate::value::{QueryResult, give, us};

/// The most points in the progress curve.
const POINTS: u32 = 2_000;
/// Bits in a word of the pieces that a client has.
const WORD: u32 = 64;
/// Pieces of a row that the page knows nothing about.
const NONE: f64 = -1.0;

/// The clients of a recorded coordinator, by the pieces of its first file.
#[wasm_bindgen]
pub struct Matrix {
    of: Rc<RefCell<Recorded>>,
    /// The recordings it was opened with, and its number among them.
    among: Option<(usize, Rc<RefCell<Several>>)>,
}

impl Matrix {
    pub(super) fn from_recorded(recorded: &Rc<RefCell<Recorded>>) -> Option<Self> {
        recorded.borrow_mut().clients().filter(|clients| !clients.rows().is_empty())?;
        Some(Self { of: Rc::clone(recorded), among: None })
    }

    /// The coordinator among several recordings.
    pub(super) fn from_several(several: &Rc<RefCell<Several>>) -> Option<Self> {
        let (tape, of) = several.borrow().coordinator()?;
        Some(Self { of, among: Some((tape, Rc::clone(several))) })
    }

    /// The number that a record has in the run that is shown.
    fn number(&self, i: u64) -> f64 {
        let among = self.among.as_ref();
        let number = among.and_then(|(tape, all)| all.borrow().number(*tape, i));
        number.map_or(i as f64, f64::from)
    }

    /// What a query needs: the clients, the coordinator at the cursor, and the
    /// clock.
    fn with<T>(&self, see: impl FnOnce(&Clients, &View, Instant) -> T) -> Option<T> {
        let mut of = self.of.borrow_mut();
        let now = of.now();
        let view = of.coordinator();
        Some(see(of.clients()?, &view?, now))
    }

    fn pieces(&self) -> u32 {
        // Before the start there is no file.
        self.of.borrow().pieces()
    }
}

/// What a client has, by its row.
fn members<'a>(
    clients: &'a Clients,
    file: &'a ManagedFileView,
) -> impl Iterator<Item = (u32, &'a ClientView)> {
    file.clients.iter().filter_map(|client| Some((clients.row(client.client)?, client)))
}

fn has(client: &ClientView, piece: u32) -> bool {
    let word = client.have.get((piece / WORD) as usize);
    let word = word.and_then(|word| u64::from_str_radix(word, 16).ok()).unwrap_or(0);
    word >> (piece % WORD) & 1 == 1
}

#[wasm_bindgen]
impl Matrix {
    /// The interface common to all runs.
    #[must_use]
    pub fn run(&self) -> Run {
        match &self.among {
            Some((_, all)) => Run::cast(Rc::clone(all) as _, Cast::Clients),
            None => Run::cast(Rc::clone(&self.of) as _, Cast::Clients),
        }
    }

    /// The recording it is from, with the same cursor.
    #[must_use]
    pub fn tape(&self) -> Tape {
        Tape { of: Rc::clone(&self.of) }
    }

    /// The recordings it is among; `undefined` when it was opened alone.
    #[must_use]
    pub fn tapes(&self) -> Option<Tapes> {
        self.among.as_ref().map(|(_, all)| Tapes { of: Rc::clone(all) })
    }

    /// The coordinator's policy.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "SwarmPolicy")]
    pub fn policy(&self) -> QueryResult {
        give(&self.of.borrow().policy())
    }

    /// `[clients, pieces]`.
    #[must_use]
    pub fn size(&self) -> Uint32Array {
        let clients = self.of.borrow_mut().clients().map_or(0, |clients| clients.rows().len());
        Uint32Array::from(&[clients as u32, self.pieces()][..])
    }

    /// A version that changes whenever something drawn may have changed.
    #[must_use]
    pub fn changes(&self) -> f64 {
        self.of.borrow().player().position().map_or(NONE, |inputs| inputs as f64)
    }

    /// The state of every piece at every client, row by row.
    #[must_use]
    pub fn cells(&self) -> Uint8Array {
        let pieces = self.pieces();
        let cells = self.with(|clients, view, _| {
            let mut cells = vec![Cell::Missing as u8; clients.rows().len() * pieces as usize];
            let mut set = |row: u32, piece: u32, cell: Cell| {
                if let Some(place) = cells.get_mut((row * pieces + piece) as usize) {
                    *place = cell as u8;
                }
            };
            for file in view.files.iter().take(1) {
                for (row, client) in members(clients, file) {
                    (0..pieces).filter(|piece| has(client, *piece)).for_each(|piece| {
                        set(row, piece, Cell::Held);
                    });
                }
                for transfer in &file.transfers {
                    let Some(taker) = clients.row(transfer.down) else { continue };
                    set(taker, transfer.piece, Cell::Coming);
                    if let Some(giver) = transfer.up.and_then(|up| clients.row(up)) {
                        set(giver, transfer.piece, Cell::Sent);
                    }
                }
            }
            cells
        });
        Uint8Array::from(&cells.unwrap_or_default()[..])
    }

    /// Rows of clients from `from` on, 14 numbers each; see `Swarm.rows`.
    #[must_use]
    pub fn rows(&self, from: u32, count: u32) -> Float64Array {
        let pieces = self.pieces();
        let rows = self.with(|clients, view, now| {
            let file = view.files.first();
            let mut rows = Vec::new();
            for (number, came) in (0..).zip(clients.rows()).skip(from as usize).take(count as usize)
            {
                let of = |client: &&ClientView| clients.row(client.client) == Some(number);
                let here = file.and_then(|file| file.clients.iter().find(of));
                rows.extend(here.map_or_else(
                    || absent(came.at > now, came.whole.is_some_and(|at| at <= now), pieces),
                    |client| row(client, pieces),
                ));
            }
            rows
        });
        Float64Array::from(&rows.unwrap_or_default()[..])
    }

    /// Active transfers at the cursor, 10 numbers each; see `Swarm.transfers`.
    #[must_use]
    pub fn transfers(&self) -> Float64Array {
        let rows = self.with(|clients, view, _| {
            let mut rows = Vec::new();
            for transfer in view.files.iter().take(1).flat_map(|file| &file.transfers) {
                let Some(taker) = clients.row(transfer.down) else { continue };
                let number = |conn: ConnId| clients.row(conn).map_or(NONE, f64::from);
                let flow = clients.flow(taker, transfer.piece, transfer.since);
                rows.extend([
                    flow.map_or(NONE, |flow| self.number(flow.id)),
                    transfer.up.map_or(NONE, number),
                    f64::from(taker),
                    f64::from(transfer.piece),
                    us(transfer.since),
                    us(transfer.since),
                    flow.and_then(|flow| flow.ends).map_or(NONE, us),
                    0.0,
                    f64::from(u8::from(transfer.put)),
                    1.0,
                ]);
            }
            rows
        });
        Float64Array::from(&rows.unwrap_or_default()[..])
    }

    /// For each piece, how many clients hold it.
    #[must_use]
    pub fn rarity(&self) -> Uint32Array {
        let pieces = self.pieces();
        let copies = self.with(|_, view, _| {
            let file = view.files.first();
            let held = |piece| {
                let all = file.into_iter().flat_map(|file| &file.clients);
                all.filter(|client| has(client, piece)).count() as u32
            };
            (0..pieces).map(held).collect::<Vec<u32>>()
        });
        Uint32Array::from(&copies.unwrap_or_else(|| vec![0; pieces as usize])[..])
    }

    /// Totals at the cursor. What no swarm could beat is not known of a real
    /// one: `bound` is 0.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "Totals")]
    pub fn counters(&self) -> QueryResult {
        let begun = self.of.borrow().begun();
        let totals = self.with(|clients, view, now| {
            let whole = |came: &&super::clients::Came| came.whole.is_some_and(|at| at <= now);
            let (rows, done) = (clients.rows(), clients.rows().iter().filter(whole).count());
            let last = rows.iter().filter_map(|came| came.whole).max();
            let finished = done == rows.len();
            let at = last.filter(|_| finished).unwrap_or(now);
            let empty = Vec::new();
            let (file, members) =
                view.files.first().map_or((None, &empty), |f| (Some(f), &f.clients));
            let (counters, pieces) = (view.counters, file.map_or(1, |file| file.pieces.max(1)));
            let messages = (counters.sent + counters.heard) * 1_000;
            Totals {
                counters,
                ratio: file.map_or(0, |file| file.ratio),
                source_copies: counters.arrived_from_source * 1_000 / u64::from(pieces),
                messages_per_piece: messages / counters.arrived.max(1),
                stalled: members.iter().filter(|client| client.stalled.is_some()).count() as u32,
                quarantined: members.iter().filter(|client| client.quarantined).count() as u32,
                whole: done as u32,
                wanting: rows.len() as u32,
                at: Instant::ZERO + at.since(begun),
                finished,
                bound: Duration::ZERO,
            }
        });
        totals.map_or(Ok(JsValue::UNDEFINED), |totals| give(&totals))
    }

    /// `[at, held, 0]` from the start to the end of the recording, in `bins` steps,
    /// and how many pieces all clients can hold as the last number.
    #[must_use]
    pub fn progress(&self, bins: u32) -> Float64Array {
        let (begun, end) = (self.of.borrow().begun(), self.of.borrow().horizon());
        let (bins, pieces) = (u64::from(bins.clamp(2, POINTS)), self.pieces());
        let mut of = self.of.borrow_mut();
        let Some(clients) = of.clients() else { return Float64Array::new_with_length(0) };
        let most = clients.rows().len() as f64 * f64::from(pieces);
        let point = |i| {
            let at = begun + end.since(begun).ratio(i, bins - 1);
            [us(at), clients.arrived_by(at) as f64, most]
        };
        Float64Array::from(&(0..bins).flat_map(point).collect::<Vec<_>>()[..])
    }

    /// How a transfer was chosen, by the number of its record; `undefined` if
    /// that is not an assignment.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "SwarmSelection | undefined")]
    pub fn funnel(&self, transfer: f64) -> QueryResult {
        let place = self.among.as_ref().map(|(tape, all)| {
            let origin = all.borrow().origin(transfer as u32);
            origin.filter(|(of, _)| of == tape).map(|(_, i)| u64::from(i))
        });
        let Some(id) = place.unwrap_or(Some(transfer as u64)) else {
            return Ok(JsValue::UNDEFINED);
        };
        let mut of = self.of.borrow_mut();
        let choice = of.clients().and_then(|clients| clients.choice(id));
        choice.map_or(Ok(JsValue::UNDEFINED), give)
    }

    /// The ledger is not worked out for a recording.
    ///
    /// # Errors
    /// Never.
    #[wasm_bindgen(unchecked_return_type = "{ key: string, [name: string]: any } | undefined")]
    pub fn ledger(&self, _: u32) -> QueryResult {
        Ok(JsValue::UNDEFINED)
    }

    /// The result at the end of the tape.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "SwarmResult")]
    pub fn outcome(&self) -> QueryResult {
        let mut of = self.of.borrow_mut();
        let whole = of.clients().map_or((0, 0), |clients| {
            let done = clients.rows().iter().filter(|came| came.whole.is_some()).count();
            (done as u32, clients.rows().len() as u32)
        });
        give(&Result {
            finished: whole.0 == whole.1,
            at: Some(of.horizon()),
            bound: Duration::ZERO,
            ratio: 0,
            whole: whole.0,
            wanting: whole.1,
            source_copies: 0,
            messages: 0,
            deadlocked: None,
        })
    }
}

/// A row of a client that is connected.
fn row(client: &ClientView, pieces: u32) -> [f64; 14] {
    let whole = |n: u64| n as f64;
    let flags = u32::from(client.quarantined) | u32::from(client.held >= pieces) << 1;
    [
        1.0,
        f64::from(u8::from(client.active)),
        client.held.into(),
        client.wanted.into(),
        whole(client.uploads),
        whole(client.downloads),
        client.credit as f64,
        whole(client.grants),
        client.stalled.map_or(NONE, us),
        whole(client.rate),
        client.receiving.into(),
        client.sending.into(),
        client.failures.into(),
        flags.into(),
    ]
}

/// A row of a client that has not come yet, or is gone.
fn absent(expected: bool, whole: bool, pieces: u32) -> [f64; 14] {
    const EXPECTED: u32 = 16;
    let mut row = [0.0; 14];
    (row[1], row[3], row[8]) = (1.0, if whole { 0.0 } else { pieces.into() }, NONE);
    row[13] = f64::from(if expected { EXPECTED } else { 0 } | u32::from(whole) << 1);
    row
}
