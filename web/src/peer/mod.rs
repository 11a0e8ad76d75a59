//! A servent in the page: the very [`Node`](servent_core::node::Node) of the
//! program, on the sockets, files, timers and storage of a browser.
//!
//! It records the same recording as the program, and is verified by the same replay.

mod channel;
mod config;
mod disk;
mod host;
mod line;
mod routes;
mod rows;
mod signal;
mod socket;
mod tape;

use std::cell::RefCell;
use std::net::{SocketAddr, SocketAddrV4};
use std::rc::Rc;

use js_sys::{Array, Uint8Array};
use serde::{Deserialize, Serialize};
use servent_core::fetch::{DownloadSource, Get};
use servent_core::id::FetchId;
use servent_core::node::{DiskInput, FetchCommand, Input, NodeCommand, NodeView, OverlayCommand};
use servent_core::queue::QueuePolicy;
use servent_core::routing::RouterView;
use servent_core::wire::http::Target;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast as _, JsError, JsValue};

use self::disk::{Done, Door, ShareView};
use self::host::{Happened, PageHost};
use self::line::CallLine;
use self::routes::{Counts, WayView};
use crate::value::{QueryResult, give, refused};

/// Which servent it belongs to, and what it remembers.
#[derive(Deserialize)]
pub(crate) struct How {
    /// Its name in recordings, and to its neighbours.
    name: String,
    /// The seed of its random numbers, in digits.
    seed: String,
    /// The addresses of the servent behind `url`; the first is joined.
    own: Vec<SocketAddr>,
    /// Where that servent answers WebSockets.
    url: String,
    /// Where other pages call it: an address it has drawn, and the secret by
    /// which it has that again.
    line: Option<(SocketAddrV4, String)>,
    /// What the room wants its servents to be configured with.
    #[serde(default)]
    rules: Option<Rules>,
    /// Where a page learns the address it has in the network: a STUN server.
    #[serde(default)]
    stun: Option<String>,
    /// The rows that its door has kept.
    rows: Vec<(String, String)>,
}

/// What a room wants its servents to be configured with.
#[derive(Clone, Copy, Deserialize)]
pub(crate) struct Rules {
    /// Uploads at once.
    slots: u32,
    /// Neighbours that are looked for.
    degree: u32,
    /// How far a search goes.
    ttl: u8,
    /// How those who wait are told to ask again.
    #[serde(default)]
    policy: QueuePolicy,
}

/// A servent in this page.
#[wasm_bindgen]
pub struct Peer(Rc<RefCell<PageHost>>);

/// What a peer is and does at the moment.
#[derive(Serialize)]
struct PeerView {
    /// Its servent id.
    servent: String,
    /// Its time in microseconds since 1970; that of all other instants.
    now: u64,
    /// Its queue and its downloads.
    node: NodeView,
    /// Its neighbours.
    overlay: Option<RouterView>,
    /// What it shares.
    shares: Vec<ShareView>,
    /// Downloads that are complete.
    done: Vec<Done>,
    /// Other pages can call it.
    called: bool,
    /// How its connections reach their other ends.
    ways: Vec<WayView>,
    /// What happened on channels to other pages.
    channels: Counts,
    /// What cannot be saved, in words.
    trouble: Option<String>,
}

#[wasm_bindgen]
impl Peer {
    /// Starts a servent. `files` are those it shared before, as pairs of number
    /// and `File`; `door` keeps what must survive a reload.
    ///
    /// # Errors
    /// When `how` cannot be read.
    pub fn start(
        #[wasm_bindgen(unchecked_param_type = "any")] how: JsValue,
        #[wasm_bindgen(unchecked_param_type = "[number, File][]")] files: Array,
        #[wasm_bindgen(unchecked_param_type = "any")] door: JsValue,
    ) -> Result<Peer, JsError> {
        let how: How = serde_wasm_bindgen::from_value(how)?;
        let seed = how.seed.parse().map_err(|_| refused("the seed is no number"))?;
        let host = PageHost::new(how, seed, &files, door.unchecked_into::<Door>());
        Ok(Self(host))
    }

    /// Shares a file from now on; its number.
    pub fn share(&self, file: web_sys::File) -> u32 {
        let (info, index) = self.0.borrow_mut().add_share(file);
        PageHost::happened(&self.0, [Happened::Input(Input::Disk(DiskInput::Shared(info)))]);
        PageHost::hash_share(&self.0, index);
        index.0
    }

    /// Shares a file no longer.
    pub fn unshare(&self, index: u32) {
        let gone = self.0.borrow_mut().drop_share(index);
        PageHost::happened(&self.0, gone.map(Happened::Input));
    }

    /// Searches for names with all these words; the number of the search, by
    /// which its hits are known.
    pub fn search(&self, words: String) -> u32 {
        let search = self.0.borrow_mut().next_search();
        self.command(NodeCommand::Overlay(OverlayCommand::Search { search, words }));
        search
    }

    /// Sends a search to no further neighbours.
    #[wasm_bindgen(js_name = endSearch)]
    pub fn end_search(&self, search: u32) {
        self.command(NodeCommand::Overlay(OverlayCommand::EndSearch { search }));
    }

    /// What has happened since this was last asked: `{found: …}`, `{failed: …}`
    /// and so on. The hits are numbered in the order in which they come.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "any[]")]
    pub fn answers(&self) -> QueryResult {
        let answers = std::mem::take(&mut self.0.borrow_mut().answers);
        give(&answers)
    }

    /// Downloads the file that these hits name, all of them sources of it.
    ///
    /// # Errors
    /// None of them can be asked directly.
    pub fn get(&self, hits: &[u32]) -> Result<(), JsError> {
        let get = {
            let host = self.0.borrow();
            let hits: Vec<_> = hits
                .iter()
                .filter_map(|n| host.hits.get(*n as usize))
                .filter(|h| !h.push || line::is_page(h.at))
                .collect();
            let Some(first) = hits.first() else {
                return Err(refused("none of these sources can be reached from here"));
            };
            let sources = hits.iter().map(|hit| {
                let file = Target::File { index: hit.index, name: hit.name.clone() };
                let target = match hit.sha1 {
                    Some(sha1) => format!("{}#{file}", Target::Urn(sha1)),
                    None => file.to_string(),
                };
                DownloadSource { at: hit.at, target, host: hit.at.to_string() }
            });
            let name = first.name.rsplit('/').next().unwrap_or_default().to_owned();
            Get { name, sha1: first.sha1, sources: sources.collect() }
        };
        self.command(NodeCommand::Fetch(FetchCommand::Get(get)));
        Ok(())
    }

    /// Gives up a download and deletes its bytes.
    pub fn cancel(&self, fetch: u32) {
        self.command(NodeCommand::Fetch(FetchCommand::Cancel { fetch: FetchId(fetch) }));
    }

    /// Takes a complete download off the list, with its bytes.
    pub fn forget(&self, part: f64) {
        PageHost::forget(&self.0, part);
    }

    /// The page is seen again, or its network is back: what is due is done now,
    /// what was put off because it failed too, and a connection that only seems to
    /// be open is found out.
    pub fn wake(&self) {
        PageHost::happened(&self.0, [Happened::Woke]);
        CallLine::wake(&self.0);
    }

    /// What it is and does, with `count` places of its queue.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "any")]
    pub fn view(&self, count: u32) -> QueryResult {
        let host = self.0.borrow();
        give(&PeerView {
            servent: host.node.servent().to_string(),
            now: host.now().as_micros(),
            node: host.node.view(1, count),
            overlay: host.node.overlay(),
            shares: host.disk.shares(),
            done: host.disk.done(),
            called: host.line.is_open(),
            ways: host.way_views(),
            channels: host.counts(),
            trouble: host.trouble.clone(),
        })
    }

    /// Loses so many of a thousand datagrams to other pages from now on; which
    /// ones is drawn from the seed. To see what that does, and for tests.
    pub fn lose(&self, per_mille: u32, seed: u32) {
        self.0.borrow_mut().lose(per_mille, u64::from(seed));
    }

    /// Where its servent answers WebSockets from now on, for connections that it
    /// opens later; the code of a room is part of that.
    pub fn at(&self, url: String) {
        self.0.borrow_mut().how.url = url;
    }

    /// Cuts it off from the servent of the room, or mends that: connections with
    /// it end, and none is opened. Other pages are reached as before.
    pub fn cut(&self, off: bool) {
        PageHost::cut(&self.0, off);
    }

    /// Cuts it off from another page, or mends that: connections that it has made to
    /// that address end, and it makes none.
    ///
    /// # Errors
    /// That is no address.
    pub fn apart(&self, page: &str, off: bool) -> Result<(), JsError> {
        let page = page.parse().map_err(|_| refused("that is no address of a page"))?;
        PageHost::apart(&self.0, page, off);
        Ok(())
    }

    /// Its recording so far.
    #[must_use]
    pub fn tape(&self) -> Uint8Array {
        Uint8Array::from(self.0.borrow_mut().tape().as_bytes())
    }

    /// The lines of its recording from that one on, so that it can be handed on piece by
    /// piece; [`Peer::tape_lines`] says from which line to go on.
    #[wasm_bindgen(js_name = tapeFrom)]
    #[must_use]
    pub fn tape_from(&self, line: u32) -> Uint8Array {
        Uint8Array::from(self.0.borrow_mut().tape_from(line as usize).as_bytes())
    }

    /// How many lines its recording has.
    #[wasm_bindgen(js_name = tapeLines)]
    #[must_use]
    pub fn tape_lines(&self) -> u32 {
        self.0.borrow().tape_lines()
    }

    /// Says goodbye to all peers, and is called no more.
    pub fn stop(&self) {
        self.0.borrow_mut().line.leave();
        self.command(NodeCommand::Stop);
    }

    fn command(&self, command: NodeCommand) {
        PageHost::happened(&self.0, [Happened::Input(Input::Command(command))]);
    }
}
