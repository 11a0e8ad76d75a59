//! What is known of the download that a command follows.

use std::path::{Path, PathBuf};

use servent::Clock;
use servent_core::id::FetchId;
use servent_core::node::{DownloadSource, FetchView, Get};
use servent_core::time::Instant;
use servent_core::wire::http::BodyEncoding;

use super::there;
use super::troubles::SourceTroubles;

/// What is known of it so far.
pub(super) struct FetchSoFar {
    pub(super) clock: Clock,
    begun: Instant,
    pub(super) name: String,
    pub(super) sources: Vec<DownloadSource>,
    pub(super) ours: Option<FetchId>,
    /// The download of an earlier command that goes on from our sources.
    pub(super) relinked: Option<FetchView>,
    pub(super) troubles: SourceTroubles,
    /// Bytes that were there when it began.
    pub(super) had: u64,
    /// Bytes that may be on standard output.
    pub(super) poured: u64,
    pub(super) vouched: bool,
    pub(super) named: Option<String>,
    pub(super) encoding: Option<BodyEncoding>,
    /// A file that is there already, and may be the same.
    pub(super) there: Option<PathBuf>,
}

impl FetchSoFar {
    pub(super) fn new(wish: &Get, there: Option<PathBuf>) -> Self {
        let clock = Clock::new();
        Self {
            begun: clock.now(),
            clock,
            name: wish.name.clone(),
            sources: wish.sources.clone(),
            ours: None,
            relinked: None,
            troubles: SourceTroubles::default(),
            had: 0,
            poured: 0,
            vouched: true,
            named: None,
            encoding: None,
            there,
        }
    }

    /// The file that is there, of which its server has not said in time whether it has
    /// the same.
    pub(super) fn waited_for(&self) -> Option<&Path> {
        let waited = self.clock.now().since(self.begun);
        self.there.as_deref().filter(|_| waited > there::PATIENCE)
    }
}
