//! A terminal of its own for a program: what it shows there is read, and what
//! is typed reaches it as from a keyboard, Ctrl-C as a signal.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::num::NonZeroU16;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::{PATIENCE, Running, ended};

/// Ctrl-C.
pub(crate) const INTERRUPT: &str = "\u{3}";
/// Ctrl-D.
pub(crate) const END: &str = "\u{4}";

/// What is on the screen, and the keyboard.
pub(crate) struct Terminal {
    keyboard: File,
    screen: Receiver<String>,
    shown: String,
}

impl Terminal {
    /// Starts a program at a new terminal. Its standard output is a pipe.
    pub(crate) fn start(command: &Command) -> (Self, Running) {
        let (terminal, child) = Self::spawn(command, false);
        (terminal, Running::from_child(child))
    }

    /// Runs a program to its end at a terminal of so many rows and columns, which has
    /// its standard output too; returns the lines that are on the screen then.
    pub(crate) fn run(command: &Command, (rows, columns): (u16, u16)) -> (Vec<String>, ExitStatus) {
        let (mut terminal, mut child) = Self::spawn(command, true);
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&terminal.keyboard, size).unwrap();
        terminal.types("\n"); // Its size is known: it may begin.
        let status = ended(&mut child);
        let some = |n| NonZeroU16::new(n).unwrap();
        let mut screen = vt100::Parser::new(some(rows), some(columns), 0);
        // The reader ends with the last program that has the terminal open.
        while let Ok(more) = terminal.screen.recv_timeout(PATIENCE) {
            screen.process(more.as_bytes());
        }
        let lines = screen.screen().rows(0, columns).map(|line| line.trim_end().to_owned());
        (lines.filter(|line| !line.is_empty()).collect(), status)
    }

    fn spawn(command: &Command, whole: bool) -> (Self, Child) {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC);
        let master = master.unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let open = || OpenOptions::new().read(true).write(true).open(&name).unwrap();
        let mut at = Command::new("setsid");
        at.arg("--ctty");
        if whole {
            at.args(["sh", "-c", "read begin && exec \"$0\" \"$@\""]);
        }
        at.arg(command.get_program()).args(command.get_args());
        at.env_clear()
            .env("TERM", "xterm")
            .envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))));
        at.current_dir(command.get_current_dir().unwrap());
        let out = if whole { Stdio::from(open()) } else { Stdio::piped() };
        let child = at.stdin(open()).stderr(open()).stdout(out).spawn().unwrap();
        let keyboard = File::from(master);
        let mut glass = keyboard.try_clone().unwrap();
        let (send, screen) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4_096];
            // It ends with an error once no program has the terminal open.
            while let Ok(n) = glass.read(&mut bytes) {
                if n == 0 || send.send(String::from_utf8_lossy(&bytes[..n]).into_owned()).is_err() {
                    return;
                }
            }
        });
        (Self { keyboard, screen, shown: String::new() }, child)
    }

    /// Waits until this is on the screen, and takes what is there up to its end.
    pub(crate) fn shows(&mut self, text: &str) -> String {
        loop {
            if let Some(at) = self.shown.find(text) {
                let rest = self.shown.split_off(at + text.len());
                return std::mem::replace(&mut self.shown, rest);
            }
            match self.screen.recv_timeout(PATIENCE) {
                Ok(more) => self.shown.push_str(&more),
                Err(e) => panic!("{e}: no {text:?} in {:?}", self.shown),
            }
        }
    }

    pub(crate) fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }
}
