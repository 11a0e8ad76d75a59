//! Bodies of unknown length: in chunks, or until the connection ends. They are
//! accepted only from a sole source, each time from the beginning, and only in
//! chunks where a third party could cut the connection unnoticed.

use super::SourceTrouble;
use super::cx::FetchCx;
use super::download::Download;
use super::ranges::RangeSet;
use super::source::SourceLink;
use crate::wire::http::ResponseHead;

impl Download {
    /// The whole file follows, up to wherever it ends.
    pub(super) fn take_to_the_end(
        &mut self,
        no: u32,
        (head, chunked): (&ResponseHead, bool),
        cx: &mut FetchCx<'_>,
    ) {
        let only = self.only(no);
        let Some(src) = self.sources.get_mut(&no) else { return };
        let private = src.source.target.starts_with("https://");
        if !only || (private && !chunked) {
            return self.lose(no, SourceTrouble::Endless, cx);
        }
        // It starts at the beginning each time, so bytes received are no sign
        // that it will ever end.
        src.opened += 1;
        if src.opened > cx.config.attempts {
            return self.lose(no, SourceTrouble::Disconnected, cx);
        }
        src.forget();
        self.have = RangeSet::default();
        self.allocate(cx);
        self.receive(no, ((0, u64::MAX), Some(chunked)), head, cx);
    }

    /// All of it is stored, so its length is known now.
    pub(super) fn body_ended(&mut self, no: u32, cx: &mut FetchCx<'_>) {
        let Some(SourceLink::Receiving(transfer)) = self.sources.get(&no).map(|src| src.link)
        else {
            return;
        };
        self.release(no, cx);
        self.believe(no, Some(transfer.stored));
        if self.size != Some(transfer.stored) {
            return self.lose(no, SourceTrouble::LengthLie, cx);
        }
        self.allocate(cx);
        if !self.finish_if_whole(cx) {
            self.wake(cx);
        }
    }
}
