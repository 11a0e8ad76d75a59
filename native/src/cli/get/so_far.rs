//! What is known of the download that a command follows.

use std::path::{Path, PathBuf};

use servent::Clock;
use servent::driver::Handle;
use servent_core::id::FetchId;
use servent_core::node::{DownloadSource, FetchCommand, FetchView, Get, NodeCommand};
use servent_core::time::Instant;
use servent_core::wire::http::BodyEncoding;

use super::there;
use super::troubles::SourceTroubles;
use crate::exit::Failure;

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

/// Removes a download that an earlier command began under the same name from
/// elsewhere. When bytes of it are here, it goes on from these sources instead of
/// ours, and is returned: its address may only have expired.
pub(super) async fn alone(
    handle: &Handle,
    ours: FetchId,
    sources: &[DownloadSource],
) -> Result<Option<FetchView>, Failure> {
    for other in handle.view(1, 0).await?.fetches {
        if other.fetch == ours.0 || other.state == "done" {
            continue;
        }
        let fetch = FetchId(other.fetch);
        if other.have > 0 && !sources.is_empty() {
            let sources = sources.to_vec();
            for command in
                [FetchCommand::Cancel { fetch: ours }, FetchCommand::Relink { fetch, sources }]
            {
                handle.command(NodeCommand::Fetch(command)).await?;
            }
            return Ok(Some(other));
        }
        handle.command(NodeCommand::Fetch(FetchCommand::Cancel { fetch })).await?;
    }
    Ok(None)
}
