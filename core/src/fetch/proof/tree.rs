//! Requests the hash tree of a download (THEX).
//!
//! A source that has the tree announces it, with its root, in its replies. It
//! is asked once, on a separate connection, so that one that holds a place or
//! transfers the file is not disturbed. Sources that cannot be dialed are not
//! asked.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;

use super::check::Checks;
use crate::fetch::cx::FetchCx;
use crate::fetch::download::{Download, State};
use crate::fetch::event::FetchLimit;
use crate::fetch::{Event, Output};
use crate::id::ConnId;
use crate::thex::Tree;
use crate::time::Instant;
use crate::wire::http::{HeadWriter, ResponseHead};
use crate::wire::thex::{self, ThexUri};

/// Files up to this size are downloaded again as a whole: their tree would cost
/// more requests than their bytes, and a folder of such files would be
/// hammering.
const SMALL: u64 = 256 * 1_024;

/// A tree that is being requested.
#[derive(Debug, Clone)]
pub(crate) struct TreeRequest {
    /// The source it is requested from.
    no: u32,
    conn: ConnId,
    uri: ThexUri,
    /// The request is given up then.
    pub(crate) until: Instant,
}

impl Download {
    /// A source announces that it has the tree.
    pub(crate) fn hear_of_tree(&mut self, no: u32, head: &ResponseHead) {
        if self.sha1.is_none() || !matches!(head.status, 200 | 206 | 503) {
            return;
        }
        let told = head.headers.get("X-Thex-URI").and_then(ThexUri::parse);
        if let (Some(src), Some(told)) = (self.sources.get_mut(&no), told) {
            src.thex = Some(told);
        }
    }

    /// The first source that has a tree and was not asked for it.
    fn next_for_tree(&self) -> Option<(u32, ThexUri)> {
        if self.size.is_some_and(|size| size <= SMALL) {
            return None;
        }
        let refuted = &self.checks.refuted;
        self.sources.iter().find_map(|(&no, src)| {
            let uri = src.thex.as_ref().filter(|uri| !refuted.contains(&uri.root))?;
            let fits = src.lost.is_none() && !src.pushed && !src.asked_for_tree;
            fits.then(|| (no, uri.clone()))
        })
    }

    /// True when a tree is being requested, or may be.
    pub(crate) fn may_have_tree(&self) -> bool {
        self.checks.asking.is_some() || !self.checks.blind && self.next_for_tree().is_some()
    }

    /// Requests the tree, once a source has it.
    pub(crate) fn ask_for_tree(&mut self, cx: &mut FetchCx<'_>) {
        let Checks { tree: None, asking: None, blind: false, .. } = self.checks else { return };
        if self.state != State::Running || self.size.is_none_or(|size| size == 0) {
            return;
        }
        let Some((no, uri)) = self.next_for_tree() else { return };
        let Some(src) = self.sources.get_mut(&no) else { return };
        src.asked_for_tree = true;
        let conn = cx.conns.draw(self.id, no);
        let until = cx.now + cx.config.tree_deadline.scaled(cx.config.time_scale);
        cx.fx.output(Output::Dial { conn, to: src.at() });
        self.checks.asking = Some(TreeRequest { no, conn, uri, until });
    }

    /// True for the connection on which the tree is requested.
    pub(crate) fn asks_for_tree_on(&self, conn: ConnId) -> bool {
        self.checks.asking.as_ref().is_some_and(|asking| asking.conn == conn)
    }

    /// The dial succeeded.
    pub(crate) fn tree_dialed(&mut self, cx: &mut FetchCx<'_>) {
        let Some(asking) = &self.checks.asking else { return };
        let source = &self.sources[&asking.no].source;
        // What is asked for over TLS is so altogether.
        let origin = match source.target.starts_with("https://") {
            true => format!("https://{}", source.host),
            false => String::new(),
        };
        let mut head = HeadWriter::request("GET", &format!("{origin}{}", asking.uri.target));
        head.header("Host", &source.host)
            .header("User-Agent", &cx.speech.agent)
            .header("Connection", "close");
        cx.fx.output(Output::Write { conn: asking.conn, data: head.finish() });
    }

    /// The head of the reply.
    pub(crate) fn tree_reply(&mut self, head: &ResponseHead, cx: &mut FetchCx<'_>) {
        let Some(conn) = self.checks.asking.as_ref().map(|asking| asking.conn) else { return };
        let chunked = head.headers.lists("Transfer-Encoding", "chunked");
        let length = head.content_length();
        if length.is_some_and(|length| length > cx.config.tree_bytes) {
            cx.fx.event(Event::Limit { fetch: self.id, limit: FetchLimit::TreeBytes });
            return self.no_tree(cx);
        }
        match (head.status, length, chunked) {
            (100..=199, ..) => {}
            (200, _, true) => cx.fx.output(Output::Collect { conn, length: None }),
            (200, Some(_), false) => cx.fx.output(Output::Collect { conn, length }),
            _ => self.no_tree(cx),
        }
    }

    /// The body of the reply.
    pub(crate) fn tree_came(&mut self, message: &[u8], cx: &mut FetchCx<'_>) {
        let Some(TreeRequest { no, uri, .. }) = self.checks.asking.clone() else { return };
        let size = self.size.unwrap_or_default();
        let Some(tree) = thex::read(message, size, uri.root) else { return self.no_tree(cx) };
        self.leave_tree(cx);
        let (fetch, root, pieces) = (self.id, tree.root(), tree.pieces().len() as u32);
        let at = self.sources[&no].at();
        cx.fx.event(Event::TreeLearnt { fetch, at, root, pieces });
        self.checks.take(Some(no), Arc::new(tree));
        cx.fx.output(Output::SaveTree(fetch, self.checks.tree.clone()));
        if !self.finish_if_whole(cx) {
            self.check(cx);
        }
    }

    /// The request failed: asks the next source. If a wrong SHA-1 was waiting
    /// for the tree, continues as if there were none.
    pub(crate) fn no_tree(&mut self, cx: &mut FetchCx<'_>) {
        self.leave_tree(cx);
        self.ask_for_tree(cx);
        if self.checks.asking.is_none() && core::mem::take(&mut self.checks.doubted) {
            self.refetch(cx);
        }
    }

    /// Closes the connection on which the tree is requested.
    pub(crate) fn leave_tree(&mut self, cx: &mut FetchCx<'_>) {
        if let Some(TreeRequest { conn, .. }) = self.checks.asking.take() {
            cx.conns.forget(conn);
            cx.fx.output(Output::Close { conn });
        }
    }
}

/// A tree restored from the store.
impl Checks {
    pub(crate) fn restore(&mut self, size: Option<u64>, tree: Arc<Tree>) {
        if size == Some(tree.size()) {
            self.take(None, tree);
        }
    }
}
