//! What `share --accept` says of the files that visitors upload.

use serde_json::json;
use servent_core::node::{InboxView, NodeAnswer};
use servent_core::text::Shown;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::share::told;
use crate::cli::print;
use crate::config::Settings;
use crate::exit::Failure;
use crate::progress::{Voice, bytes};

/// Says where uploads go, if anywhere.
pub(crate) fn announce(voice: Voice, settings: &Settings) -> Result<(), Failure> {
    let Some(folder) = &settings.accept else { return Ok(()) };
    let limits = &settings.node.inbox;
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.clone());
    let fact = json!({ "event": "accepts", "folder": folder, "bytes": limits.bytes });
    let most = bytes(limits.bytes);
    told(voice, &fact, &format!("uploads of visitors go to {}, at most {most}", folder.display()))
}

/// Says every file that a visitor has uploaded.
pub(crate) async fn tell(mut answers: Receiver<NodeAnswer>, voice: Voice) {
    loop {
        let (name, size, from) = match answers.recv().await {
            Ok(NodeAnswer::Received { name, bytes, from }) => (name, bytes, from),
            Ok(_) | Err(RecvError::Lagged(_)) => continue,
            Err(RecvError::Closed) => return,
        };
        let line = match voice {
            Voice::Quiet => continue,
            Voice::Json => {
                json!({ "event": "received", "name": name, "bytes": size, "from": from })
                    .to_string()
            }
            _ => format!("received {}, {}, from {}", Shown(&name), bytes(size), from.ip()),
        };
        // A closed pipe does not stop the servent.
        drop(print(format!("{line}\n")));
    }
}

/// How far the files are that are arriving, for the line of progress.
pub(crate) fn arriving(inbox: Option<&InboxView>) -> String {
    let Some(inbox) = inbox.filter(|inbox| !inbox.arriving.is_empty()) else {
        return String::new();
    };
    let stored: u64 = inbox.arriving.iter().map(|file| file.stored).sum();
    let sizes: Option<u64> = inbox.arriving.iter().map(|file| file.size).sum();
    let of = sizes.map(|sizes| format!(" of {}", bytes(sizes))).unwrap_or_default();
    format!(", receiving {}{of}", bytes(stored))
}
