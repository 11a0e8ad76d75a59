//! The manager of services: none is told anything here.

use std::io;
use std::time::Duration;

/// Nothing waits to hear how the program is.
#[derive(Debug)]
pub struct ServiceManager;

impl ServiceManager {
    /// There is none.
    #[must_use]
    pub fn from_environment() -> Option<Self> {
        None
    }

    /// It would not hear anything.
    ///
    /// # Errors
    /// None.
    pub fn tell(&self, _state: &str) -> io::Result<()> {
        Ok(())
    }

    /// It watches nothing.
    #[must_use]
    pub fn watches(&self) -> Option<Duration> {
        None
    }
}
