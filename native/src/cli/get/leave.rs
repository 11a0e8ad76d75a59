//! The end of the servent of a `get`: places in line and slots are given back to
//! the servers that understand that (QA-8), so that those behind need not wait
//! until a client is missed that will not come.

use std::sync::Arc;
use std::time::Duration;

use servent::driver::Handle;
use servent::error::RunError;
use servent_core::id::FetchId;
use servent_core::node::{FetchCommand, NodeCommand};

/// How long servers may take for our goodbyes: a user who stops a command waits for
/// it.
const GOODBYE: Duration = Duration::from_millis(700);
/// How often to look whether they have.
const LOOK: Duration = Duration::from_millis(10);

/// Ends the servent. `stops`: its downloads are not over, and are paused, which
/// saves what has come of them; the same request continues them.
pub(super) async fn end(handle: &Handle, stops: bool) -> Result<(), Arc<RunError>> {
    // If the servent has ended already, `stop` says how.
    let _ = tokio::time::timeout(GOODBYE, say_goodbye(handle, stops)).await;
    handle.stop().await
}

async fn say_goodbye(handle: &Handle, stops: bool) -> Result<(), RunError> {
    if stops {
        for view in handle.view(1, 0).await?.fetches {
            if matches!(&view.state[..], "running" | "waiting") {
                let fetch = FetchId(view.fetch);
                handle.command(NodeCommand::Fetch(FetchCommand::Pause { fetch })).await?;
            }
        }
    }
    while handle.view(1, 0).await?.leaving > 0 {
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}
