//! The bars at the bottom of the terminal. There is one set for the whole program:
//! whatever else is written goes above it, so that neither overwrites the other.

use std::io::{self, Write};
use std::sync::LazyLock;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

static BARS: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// Adds a line at the bottom; its text is its message.
pub(crate) fn add_bar() -> ProgressBar {
    let bar = BARS.add(ProgressBar::no_length());
    // Text that is too long for one line is cut.
    if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
        bar.set_style(style);
    }
    bar
}

/// Removes a line.
pub(crate) fn remove_bar(bar: &ProgressBar) {
    bar.finish_and_clear();
    BARS.remove(bar);
}

/// Writes something while the bars are out of the way.
pub(crate) fn above_bars<T>(write: impl FnOnce() -> T) -> T {
    BARS.suspend(write)
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
