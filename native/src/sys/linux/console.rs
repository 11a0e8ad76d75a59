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

/// The requests to end the program: SIGINT, SIGTERM, and SIGHUP, by which a terminal
/// says that it was closed.
pub struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
    hangup: Option<Hangups>,
}

/// The requests to read the settings again, as a service gets them: SIGHUP.
pub struct Hangups(Signal);

impl Interrupts {
    /// From now on they do not end it by themselves. What `nohup` started goes on
    /// when its terminal is closed.
    ///
    /// # Errors
    /// The system refuses that.
    pub fn new() -> io::Result<Self> {
        let hangup = match is_hangup_ignored() {
            true => None,
            false => Some(Hangups(signal(SignalKind::hangup())?)),
        };
        let interrupt = signal(SignalKind::interrupt())?;
        Ok(Self { interrupt, terminate: signal(SignalKind::terminate())?, hangup })
    }

    /// Where there is no terminal that could be closed, SIGHUP ends nothing from now on,
    /// and has the meaning that services give it.
    pub fn split_hangups(&mut self) -> Option<Hangups> {
        if terminal().is_ok() { None } else { self.hangup.take() }
    }

    /// Waits for the next.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            () = hangup(self.hangup.as_mut()) => {}
        }
    }
}

impl Hangups {
    /// Waits for the next.
    pub async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

async fn hangup(hangups: Option<&mut Hangups>) {
    match hangups {
        Some(hangups) => hangups.next().await,
        None => std::future::pending().await,
    }
}

/// True when the program was started with SIGHUP ignored. Listening to a signal would
/// undo that.
fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 1 == 1) // SIGHUP is the first signal.
}
