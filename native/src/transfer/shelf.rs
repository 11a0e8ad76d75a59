//! The inbox of a transfer, shared with the threads that may wait for the disk.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use super::inbox::{InboxSurvey, TransferInbox};
use super::offer::OfferEntry;
use super::quota::Quota;
use super::receive_error::ReceiveError;
use super::target::blocking;
use super::writers::Writers;

/// The inbox of a transfer, for blocking calls.
pub(super) struct Shelf(pub(super) Arc<Mutex<TransferInbox>>);

impl Shelf {
    pub(super) async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut TransferInbox) -> io::Result<T> + Send + 'static,
    ) -> Result<T, ReceiveError> {
        let inbox = Arc::clone(&self.0);
        let done =
            blocking(move || work(&mut inbox.lock().unwrap_or_else(PoisonError::into_inner)));
        done.await.map_err(ReceiveError::Write)
    }

    /// What exists of the entries of an offer.
    pub(super) async fn survey(
        &self,
        entries: Vec<OfferEntry>,
    ) -> Result<InboxSurvey, ReceiveError> {
        self.with(move |inbox| inbox.survey(&entries)).await
    }

    pub(super) fn writers(&self) -> Arc<Writers> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner).writers)
    }

    pub(super) fn quota(&self) -> Option<Arc<Quota>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).quota.clone()
    }
}
