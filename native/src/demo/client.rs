//! One client of the demo: queues, downloads, compares, and waits for the next
//! round.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use servent::driver::Handle;
use servent_core::node::{DownloadSource, FetchCommand, Get, NodeAnswer, NodeCommand};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Barrier, mpsc};

use super::DownloadReport;
use super::cast::{CastMember, SharedFile};

/// What a client needs.
pub(crate) struct DemoClient {
    pub(crate) member: &'static CastMember,
    pub(crate) handle: Handle,
    pub(crate) from: SocketAddr,
    pub(crate) file: SharedFile,
    pub(crate) folder: PathBuf,
    pub(crate) barrier: Arc<Barrier>,
    pub(crate) tell: mpsc::Sender<DownloadReport>,
}

/// Runs round after round, until the task is aborted or it has no listener.
pub(crate) async fn fetch_forever(client: DemoClient) {
    for round in 1u64.. {
        tokio::time::sleep(client.member.after).await;
        let outcome = client.fetch(round).await;
        if client.tell.send(outcome).await.is_err() {
            return;
        }
        client.barrier.wait().await;
    }
}

impl DemoClient {
    async fn fetch(&self, round: u64) -> DownloadReport {
        let who = self.member.name;
        let name = format!("{round} {}", self.file.name);
        let path = self.folder.join(&name);
        match self.wait_for(name).await {
            Ok(bytes) => {
                let right = same_bytes(&path, &self.file.path).await;
                // The next rounds need the disk space.
                let _ = tokio::fs::remove_file(&path).await;
                DownloadReport::Fetched { who, bytes, right }
            }
            Err(why) => DownloadReport::Failed { who, why },
        }
    }

    async fn wait_for(&self, name: String) -> Result<u64, String> {
        let mut answers = self.handle.answers();
        let sha1 = Some(self.file.sha1);
        let source = DownloadSource {
            at: self.from,
            target: format!("/uri-res/N2R?urn:sha1:{}", self.file.sha1),
            host: self.from.to_string(),
        };
        let get = NodeCommand::Fetch(FetchCommand::Get(Get { name, sha1, sources: vec![source] }));
        self.handle.command(get).await.map_err(|e| e.to_string())?;
        loop {
            match answers.recv().await {
                Ok(NodeAnswer::Fetched { bytes, .. }) => return Ok(bytes),
                Ok(NodeAnswer::Failed { why, .. }) => return Err(format!("{why:?}")),
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return Err("the servent ended".to_owned()),
            }
        }
    }
}

/// Compares two small files byte by byte, independently of any hash.
async fn same_bytes(a: &Path, b: &Path) -> bool {
    match tokio::try_join!(tokio::fs::read(a), tokio::fs::read(b)) {
        Ok((a, b)) => a == b,
        Err(_) => false,
    }
}
