//! Receiving a file for the inbox.

use std::sync::Arc;

use servent_core::node::{ConnInput, Input, StoreError};

use super::conn::{Conn, ConnectionOver};
use super::receive::BodyLength;
use crate::inbox::InboxFolder;

impl Conn {
    /// Receives a file, beginning with `early`. It stays with the connection
    /// until it is kept, and goes with it.
    pub(super) async fn arrive(
        &mut self,
        inbox: Arc<InboxFolder>,
        body: BodyLength,
        early: Vec<u8>,
    ) -> Result<(), ConnectionOver> {
        let begun = tokio::task::spawn_blocking(move || {
            let fresh = inbox.begin()?;
            if let BodyLength::Sized(size) = &body {
                fresh.part().check_room(*size)?;
            }
            Ok((fresh, body))
        });
        match begun.await.unwrap_or(Err(StoreError::Failed)) {
            Ok((fresh, body)) => {
                let part = fresh.part();
                self.arriving = Some(Box::new(fresh));
                self.store((part, None), (0, body), early).await
            }
            Err(why) => self.disk_failed(why).await,
        }
    }

    /// Gives the file that was received its name.
    pub(super) async fn commit(&mut self, name: String) -> Result<(), ConnectionOver> {
        let Some(fresh) = self.arriving.take() else {
            return self.disk_failed(StoreError::Failed).await;
        };
        let kept = tokio::task::spawn_blocking(move || fresh.commit(&name));
        match kept.await.unwrap_or(Err(StoreError::Failed)) {
            Ok(name) => {
                self.report(Input::Connection(self.id, ConnInput::Committed { name })).await
            }
            Err(why) => self.disk_failed(why).await,
        }
    }
}
