//! The console, standard input and output, and the requests to end.

use std::convert::Infallible;
use std::fs::{File, Metadata};
use std::io;
use std::os::windows::io::AsHandle as _;

use tokio::signal::windows::{
    CtrlBreak, CtrlC, CtrlClose, CtrlShutdown, ctrl_break, ctrl_c, ctrl_close, ctrl_shutdown,
};
use winapi_util::{HandleRef, console};

/// The bit of a console's mode by which what is typed is shown.
const ECHO: u32 = 0x4;

/// The console itself: standard input may be data.
///
/// # Errors
/// The program has none.
pub fn terminal() -> io::Result<File> {
    File::options().read(true).write(true).open("CONIN$")
}

/// Standard output as a file.
///
/// # Errors
/// It is closed.
pub fn output() -> io::Result<File> {
    Ok(io::stdout().as_handle().try_clone_to_owned()?.into())
}

/// Standard input as a file.
///
/// # Errors
/// It is closed.
pub fn input() -> io::Result<File> {
    Ok(io::stdin().as_handle().try_clone_to_owned()?.into())
}

/// True for a device or a pipe with a name.
#[must_use]
pub fn is_device(about: &Metadata) -> bool {
    !about.is_file() && !about.is_dir()
}

/// While this exists, the console does not show what is typed.
pub struct Hidden {
    terminal: File,
    before: u32,
}

impl Hidden {
    /// `None`: there is no console.
    #[must_use]
    pub fn begin() -> Option<Self> {
        let terminal = terminal().ok()?;
        let before = console::mode(HandleRef::from_file(&terminal)).ok()?;
        console::set_mode(HandleRef::from_file(&terminal), before & !ECHO).ok()?;
        Some(Self { terminal, before })
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        let _ = console::set_mode(HandleRef::from_file(&self.terminal), self.before);
    }
}

/// The requests to end the program: Ctrl-C, Ctrl-Break, the end of the window and
/// of the session.
pub struct Interrupts {
    interrupt: CtrlC,
    pause: CtrlBreak,
    close: CtrlClose,
    shutdown: CtrlShutdown,
}

/// Requests to read the settings again: no program sends them here.
pub struct Hangups(Infallible);

impl Hangups {
    /// Waits for the next.
    pub async fn next(&mut self) {
        match self.0 {}
    }
}

impl Interrupts {
    /// From now on they do not end it by themselves.
    ///
    /// # Errors
    /// The system refuses that.
    pub fn new() -> io::Result<Self> {
        let (interrupt, pause) = (ctrl_c()?, ctrl_break()?);
        Ok(Self { interrupt, pause, close: ctrl_close()?, shutdown: ctrl_shutdown()? })
    }

    /// There are none.
    pub fn split_hangups(&mut self) -> Option<Hangups> {
        None
    }

    /// Waits for the next.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.pause.recv() => {}
            _ = self.close.recv() => {}
            _ = self.shutdown.recv() => {}
        }
    }
}
