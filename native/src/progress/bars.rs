//! The lines at the bottom of the terminal. There is one set for the whole program:
//! whatever else is written goes above it, so that neither overwrites the other.

use std::io::{self, Write};
use std::sync::{LazyLock, Mutex, PoisonError};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

static BARS: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// The last line of the question that waits for its answer: what else is written would stand
/// behind it.
static QUESTION: Mutex<Option<String>> = Mutex::new(None);

/// A line at the bottom. It is removed when it is dropped, also where its owner ends
/// by a failure: none stays behind between results.
#[derive(Debug)]
pub(crate) struct BottomLine(ProgressBar);

impl BottomLine {
    /// Adds one line; a text that is too long for it is cut.
    pub(crate) fn add() -> Self {
        Self::with_template("{wide_msg}")
    }

    /// Adds one that may have several rows.
    pub(crate) fn add_table() -> Self {
        Self::with_template("{msg}")
    }

    fn with_template(template: &str) -> Self {
        let bar = BARS.add(ProgressBar::no_length());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// Shows this text from now on.
    pub(crate) fn show(&self, text: String) {
        self.0.set_message(text);
        self.0.tick();
    }

    /// Removes it; a second time changes nothing.
    pub(crate) fn remove(&self) {
        self.0.finish_and_clear();
        BARS.remove(&self.0);
    }
}

impl Drop for BottomLine {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Writes something while the lines at the bottom are out of the way. A question that
/// waits for its answer is asked again below.
pub(crate) fn above_bars<T>(write: impl FnOnce() -> T) -> T {
    let question = QUESTION.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(question) = question.as_ref() else { return BARS.suspend(write) };
    BARS.suspend(|| {
        let _ = writeln!(io::stderr()); // Without standard error it is not seen anyway.
        let written = write();
        let _ = write!(io::stderr(), "{question}");
        written
    })
}

/// The same for what the terminal may not show.
pub(super) fn beside_bars<T>(is_seen: bool, write: impl FnOnce() -> T) -> T {
    if is_seen { above_bars(write) } else { BARS.suspend(write) }
}

/// A question on the last line of the terminal, which waits for its answer until this is
/// dropped.
#[derive(Debug)]
pub(crate) struct OpenQuestion;

impl OpenQuestion {
    /// Asks; there is one at a time.
    pub(crate) fn ask(question: &str) -> Self {
        let mut open = QUESTION.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = write!(io::stderr(), "{question}");
        let last = question.rsplit('\n').next().unwrap_or(question);
        *open = Some(last.to_owned());
        Self
    }
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        *QUESTION.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Standard error above the bars, for the log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ErrorAboveBars;

impl Write for ErrorAboveBars {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        above_bars(|| io::stderr().write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
