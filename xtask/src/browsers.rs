//! The two real browsers the page is tested in.

use std::path::PathBuf;

use anyhow::Result;

use crate::machine;
use crate::steps::{Context, Outcome};

/// A browser by the name the page's tests use.
pub(crate) struct Browser {
    /// `chromium` or `firefox`.
    pub(crate) name: &'static str,
    programs: &'static [&'static str],
    package: &'static str,
}

/// Chromium.
pub(crate) const CHROMIUM: Browser = Browser {
    name: "chromium",
    programs: &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"],
    package: "chromium",
};

/// Firefox.
pub(crate) const FIREFOX: Browser =
    Browser { name: "firefox", programs: &["firefox", "firefox-esr"], package: "firefox-esr" };

/// A browser that is here, or why it is not.
pub(crate) enum Found {
    /// Its program.
    At(PathBuf),
    /// Left out, with the reason.
    No(Outcome),
}

impl Browser {
    /// Finds it, installs it where that can be done, and otherwise leaves it
    /// out on a person's machine.
    ///
    /// # Errors
    /// In continuous integration, when there is none.
    pub(crate) fn find(&self, context: &Context) -> Result<Found> {
        if context.no_browser {
            return Ok(Found::No(Outcome::Skipped("--no-browser".into())));
        }
        if let Some(path) = machine::find(self.programs) {
            return Ok(Found::At(path));
        }
        let installed = machine::apt_install(&[self.package]);
        match (installed, machine::find(self.programs)) {
            (Ok(()), Some(path)) => Ok(Found::At(path)),
            (Err(why), _) if !machine::in_ci() => {
                Ok(Found::No(Outcome::Skipped(format!("{why:#}").replace('\n', " "))))
            }
            (Err(why), _) => Err(why),
            (Ok(()), None) => {
                anyhow::bail!("apt-get installed {} but no program appeared", self.package)
            }
        }
    }
}
