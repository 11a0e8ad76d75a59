//! The terminal, standard input and output, and signals.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileTypeExt as _;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The terminal itself: standard input may be data.
///
/// # Errors
/// The program has none.
pub fn terminal() -> io::Result<File> {
    File::open("/dev/tty")
}

/// Standard output as a file.
///
/// # Errors
/// It is closed.
pub fn output() -> io::Result<File> {
    Ok(io::stdout().as_fd().try_clone_to_owned()?.into())
}

/// Standard input as a file.
///
/// # Errors
/// It is closed.
pub fn input() -> io::Result<File> {
    Ok(io::stdin().as_fd().try_clone_to_owned()?.into())
}

/// True for a device such as `/dev/null`, or a pipe with a name.
#[must_use]
pub fn is_device(about: &Metadata) -> bool {
    let kind = about.file_type();
    kind.is_char_device() || kind.is_fifo() || kind.is_block_device()
}

/// While this exists, the terminal does not echo what is typed.
pub struct Hidden {
    terminal: File,
    before: Termios,
}

impl Hidden {
    /// `None`: there is no terminal.
    #[must_use]
    pub fn begin() -> Option<Self> {
        let terminal = terminal().ok()?;
        let before = tcgetattr(&terminal).ok()?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&terminal, OptionalActions::Now, &silent).ok()?;
        Some(Self { terminal, before })
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
    }
}

/// The requests to end the program: SIGINT and SIGTERM.
pub struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
}

impl Interrupts {
    /// From now on they do not end it by themselves.
    ///
    /// # Errors
    /// The system refuses that.
    pub fn new() -> io::Result<Self> {
        let interrupt = signal(SignalKind::interrupt())?;
        Ok(Self { interrupt, terminate: signal(SignalKind::terminate())? })
    }

    /// Waits for the next.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
