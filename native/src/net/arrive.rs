//! Receiving a file for the inbox.

use std::sync::Arc;

use servent_core::node::{ConnInput, Input, StoreError};

use super::conn::{Conn, End};
use super::receive::Body;
use crate::inbox::Inbox;

impl Conn {
    /// Receives a file, beginning with `early`. It stays with the connection
    /// until it is kept, and goes with it.
    pub(super) async fn arrive(
        &mut self,
        inbox: Arc<Inbox>,
        body: Body,
        early: Vec<u8>,
    ) -> Result<(), End> {
        let begun = tokio::task::spawn_blocking(move || {
            let fresh = inbox.begin()?;
            if let Body::Sized(size) = &body {
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
    pub(super) async fn keep(&mut self, name: String) -> Result<(), End> {
        let Some(fresh) = self.arriving.take() else {
            return self.disk_failed(StoreError::Failed).await;
        };
        let kept = tokio::task::spawn_blocking(move || fresh.keep(&name));
        match kept.await.unwrap_or(Err(StoreError::Failed)) {
            Ok(name) => self.report(Input::Connection(self.id, ConnInput::Kept { name })).await,
            Err(why) => self.disk_failed(why).await,
        }
    }
}
