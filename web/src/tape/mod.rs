//! The recordings of servents: a recorded node is replayed.

mod around;
mod clients;
mod ends;
mod ladder;
mod matrix;
mod merged;
mod open;
mod overlay;
mod recorded;
mod several;
mod tapes;
mod whatif;

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::{Function, Uint8Array};
use serde::Serialize;
use serde_json::Value;
use servent_core::trace::pcapng::Exporter;
use servent_core::trace::player::Player;
use servent_core::trace::players::Players;
use servent_core::trace::tape::Checkpoint;
use servent_core::trace::{qlog, tape};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsError, JsValue};
use web_sys::{AbortSignal, ReadableStream};

pub use self::ladder::Ladder;
pub use self::matrix::Matrix;
pub use self::overlay::Overlay;
use self::recorded::Recorded;
pub use self::tapes::Tapes;
use crate::lab::{Run, known};
use crate::queue::QueueSlice;
use crate::value::{QueryResult, give, refused};

/// A recorded servent, replayed.
#[wasm_bindgen]
pub struct Tape {
    of: Rc<RefCell<Recorded>>,
}

/// The content of a simulated world's file.
#[derive(Serialize)]
struct WorldOf<'a> {
    /// The protocol, and so the class.
    protocol: &'a str,
    /// The scenario it was made from.
    scenario: &'a Value,
    /// The checkpoint at its end.
    claim: Option<&'a Checkpoint>,
}

#[wasm_bindgen]
impl Tape {
    /// From the start of a `.sqlog` file, or all of it.
    ///
    /// # Errors
    /// When it contains no valid line.
    #[wasm_bindgen(js_name = fromBytes)]
    pub fn from_bytes(bytes: &[u8]) -> Result<Tape, JsError> {
        let mut player = Player::new();
        player.append(bytes);
        Self::over(player, bytes.is_empty())
    }

    /// Reads a `.sqlog` file as a stream. `progress` is called with the bytes
    /// read so far; when `signal` aborts, the stream is cancelled.
    ///
    /// # Errors
    /// When it contains no valid line, the stream fails, or it was aborted.
    pub async fn open(
        #[wasm_bindgen(unchecked_param_type = "ReadableStream<Uint8Array>")] stream: ReadableStream,
        #[wasm_bindgen(unchecked_param_type = "((bytes: number) => void) | undefined")]
        progress: Option<Function>,
        signal: Option<AbortSignal>,
    ) -> Result<Tape, JsValue> {
        let (player, read) = open::player(stream, progress, signal).await?;
        Ok(Self::over(player, read == 0)?)
    }

    /// The same for a file with the recordings of several servents, one behind the
    /// other, as a room is recorded.
    ///
    /// # Errors
    /// When it contains no valid line, the stream fails, or it was aborted.
    #[wasm_bindgen(js_name = openAll)]
    pub async fn open_all(
        #[wasm_bindgen(unchecked_param_type = "ReadableStream<Uint8Array>")] stream: ReadableStream,
        #[wasm_bindgen(unchecked_param_type = "((bytes: number) => void) | undefined")]
        progress: Option<Function>,
        signal: Option<AbortSignal>,
    ) -> Result<Vec<Tape>, JsValue> {
        let (players, read) = open::player::<Players>(stream, progress, signal).await?;
        let players = players.all();
        if players.is_empty() {
            return Ok(vec![Self::over(Player::new(), read == 0)?]);
        }
        let tapes = players.into_iter().map(|player| Self::over(player, false));
        Ok(tapes.collect::<Result<Vec<_>, _>>()?)
    }

    /// The name of its servent.
    #[must_use]
    pub fn name(&self) -> String {
        self.of.borrow().name().to_owned()
    }

    /// The interface common to all runs.
    #[must_use]
    pub fn run(&self) -> Run {
        let of = Rc::clone(&self.of);
        Run::new(of)
    }

    /// The views that have something to show of it, that with the most events
    /// first: of `queue`, `routing`, `unicast`, `swarm`.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "string[]")]
    pub fn views(&self) -> QueryResult {
        give(&self.of.borrow_mut().views())
    }

    /// Its datagrams; `undefined` when it has none. Both share one cursor.
    #[must_use]
    pub fn ladder(&self) -> Option<Ladder> {
        Ladder::from_recorded(&self.of)
    }

    /// The neighbours of its servent in the overlay; `undefined` when there were
    /// none. Both share one cursor.
    #[must_use]
    pub fn overlay(&self) -> Option<Overlay> {
        Overlay::from_recorded(&self.of)
    }

    /// The clients of its coordinator; `undefined` when there were none. Both
    /// share one cursor.
    #[must_use]
    pub fn matrix(&self) -> Option<Matrix> {
        Matrix::from_recorded(&self.of)
    }

    /// The same recording once more, with the same cursor.
    #[must_use]
    pub fn tape(&self) -> Tape {
        Self { of: Rc::clone(&self.of) }
    }

    /// The same recording with a cursor of its own, and without branches.
    #[must_use]
    pub fn copy(&self) -> Tape {
        let of = self.of.borrow();
        let player = of.branches.recorded(&of.take).clone();
        Self { of: Rc::new(RefCell::new(Recorded::new(player))) }
    }

    /// The content of a simulated world's file, for the class that can run it;
    /// `undefined` for the recording of a servent.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "WorldFile | undefined")]
    pub fn world(&self) -> QueryResult {
        let of = self.of.borrow();
        let player = of.player();
        let Some((protocol, scenario)) = player.world() else { return Ok(JsValue::UNDEFINED) };
        give(&WorldOf { protocol, scenario, claim: player.claim() })
    }

    /// Appends bytes of a recording that is still growing.
    pub fn append(&self, bytes: &[u8]) {
        self.of.borrow_mut().append(bytes);
    }

    /// The servent's slots and `count` positions of its queue from `from` on.
    ///
    /// # Errors
    /// When there is no such node.
    #[wasm_bindgen(unchecked_return_type = "QueueState")]
    pub fn positions(&self, node: u32, from: u32, count: u32) -> QueryResult {
        self.queue(node, QueueSlice::Positions(from, count))
    }

    /// The same, with the queue sorted into lanes: a window of `count` requests
    /// in each, which starts at the given index, counted from 0.
    ///
    /// # Errors
    /// When there is no such node.
    #[wasm_bindgen(unchecked_return_type = "QueueState")]
    pub fn lanes(
        &self,
        node: u32,
        sync: u32,
        asynchronous: u32,
        grace: u32,
        count: u32,
    ) -> QueryResult {
        self.queue(node, QueueSlice::lanes([sync, asynchronous, grace], count))
    }

    /// The totals of the servent's queue at the cursor; `undefined` for a recording
    /// without its start.
    ///
    /// # Errors
    /// When there is no such node.
    #[wasm_bindgen(unchecked_return_type = "QueueOutcome | undefined")]
    pub fn totals(&self, node: u32) -> QueryResult {
        known(node, self.of.borrow().id().0 as usize + 1)?;
        self.of.borrow_mut().totals().map_or(Ok(JsValue::UNDEFINED), |totals| give(&totals))
    }

    /// Its connections as a pcapng capture.
    #[wasm_bindgen(js_name = exportPcapng)]
    #[must_use]
    pub fn export_pcapng(&self) -> Uint8Array {
        let mut exporter = Exporter::new();
        for line in self.of.borrow().player().lines() {
            if let Ok(qlog::QlogLine::Line(line)) = qlog::read(line.as_bytes()) {
                exporter.feed(Ok(*line));
            }
        }
        Uint8Array::from(&exporter.finish()[..])
    }
}

impl Tape {
    fn over(player: Player, empty: bool) -> Result<Self, JsError> {
        if let Some(version) = player.report().unknown_version {
            let known = tape::VERSION;
            return Err(refused(format!(
                "this recording has format version {version}, and this page replays version {known}: \
                 open it in the page of the program that made it"
            )));
        }
        let ours = player.start().is_some() || player.count() > 0 || player.world().is_some();
        if !ours && !empty {
            return Err(refused("this file is not a trace of a servent"));
        }
        Ok(Self { of: Rc::new(RefCell::new(Recorded::new(player))) })
    }

    fn queue(&self, node: u32, part: QueueSlice) -> QueryResult {
        let of = self.of.borrow();
        // It is the only node, whatever its number was when it was recorded.
        known(node, of.id().0 as usize + 1)?;
        give(&of.queue(part))
    }
}
