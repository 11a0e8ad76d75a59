//! What the owner of a servent changes while it runs.

use std::path::PathBuf;

use tokio::sync::oneshot;

use super::turn::Sockets;
use super::{Handle, HandleRequest, Password};
use crate::error::RunError;
use crate::library::LibraryRequest;
use crate::net::Identity;

/// A change of what was configured at the start.
#[derive(Debug)]
pub enum SettingChange {
    /// Bytes a second of all uploads together, and of those of each address.
    Rates {
        /// Of all.
        all: Option<u64>,
        /// Of each address.
        each: Option<u64>,
    },
    /// Bytes a second that all uploads together have at most for the time being, also
    /// where more is configured; `None` gives back what is configured.
    Ceiling(Option<u64>),
    /// The password of clients, where they need one.
    Password(Password),
}

impl SettingChange {
    /// Carries it out.
    pub(super) fn apply(self, sockets: &mut Sockets) {
        match self {
            Self::Rates { all, each } => sockets.limit(all, each),
            Self::Ceiling(all) => sockets.cap(all),
            Self::Password(password) => sockets.renew(password),
        }
    }
}

impl Handle {
    /// Changes what was configured at the start, for what runs too.
    ///
    /// # Errors
    /// The servent has ended.
    pub async fn change(&self, change: SettingChange) -> Result<(), RunError> {
        self.control.send(HandleRequest::Change(change)).await.map_err(|_| RunError::Gone)
    }

    /// From now on these are the configured shares; those that were added at run time stay. When
    /// this returns they are listed. The answer is what cannot be opened, a sentence each.
    ///
    /// # Errors
    /// The servent has ended.
    pub async fn configure_shares(&self, shares: Vec<PathBuf>) -> Result<Vec<String>, RunError> {
        let (told, outcome) = oneshot::channel();
        let ask = LibraryRequest::Configured(shares, told);
        let _ = self.shared.library_asks.send(ask); // If it has ended, `told` is dropped.
        outcome.await.map_err(|_| RunError::Gone)
    }

    /// Its identity as a server, if it has one.
    #[must_use]
    pub fn identity(&self) -> Option<&Identity> {
        self.shared.entry.identity()
    }
}
