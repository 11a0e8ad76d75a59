//! Questions to the user at the terminal.

use std::io::{self, BufRead as _, BufReader, IsTerminal as _, Write as _};
use std::sync::{Arc, OnceLock};

use servent::sys::terminal;
use servent_core::text::Lines;
use tokio::sync::Mutex;
use tokio::sync::mpsc::{Receiver, channel};

use crate::exit::Failure;
use crate::progress::OpenQuestion;

/// The user at a terminal, asked one question at a time.
#[derive(Clone)]
pub(crate) struct Person {
    lines: Arc<Mutex<Receiver<Typed>>>,
}

/// A line without its end, or `None` for the end of the input (Ctrl-D), after which a terminal
/// can be read again.
type Typed = Option<String>;

/// A question on the last line of the terminal. Without an answer that line has
/// no end, and what is said next would stand behind the question.
struct Unanswered;

impl Drop for Unanswered {
    fn drop(&mut self) {
        let _ = writeln!(io::stderr()); // It is not seen then.
    }
}

impl Person {
    /// The user, if there is a terminal that shows questions.
    pub(crate) fn present() -> Option<Self> {
        // One who reads it for the whole program: of two, either could get the
        // answer to the other's question.
        static READER: OnceLock<Option<Person>> = OnceLock::new();
        if !io::stderr().is_terminal() {
            return None;
        }
        READER.get_or_init(Self::reader).clone()
    }

    /// Reads the terminal itself: standard input may be the data to be sent.
    fn reader() -> Option<Self> {
        let terminal = terminal().ok()?;
        let (send, lines) = channel(1);
        // A read from a terminal cannot be cancelled, so it has a thread that
        // ends with the program.
        std::thread::spawn(move || {
            let mut terminal = BufReader::new(terminal);
            loop {
                let mut line = String::new();
                let typed = match terminal.read_line(&mut line) {
                    // One that has hung up has ended for good.
                    Ok(0) if !terminal.get_ref().is_terminal() => return,
                    Ok(0) => None,
                    Ok(_) => Some(line.trim_end_matches(['\n', '\r']).to_owned()),
                    Err(_) => return,
                };
                if send.blocking_send(typed).is_err() {
                    return;
                }
            }
        });
        Some(Self { lines: Arc::new(Mutex::new(lines)) })
    }

    /// Asks, and waits for a line; `None` when the input ends instead. Dropping
    /// the future withdraws the question.
    pub(crate) async fn ask(&self, question: &str) -> Option<String> {
        let mut lines = self.lines.lock().await;
        while lines.try_recv().is_ok() {} // Lines typed earlier are no answer.
        let unanswered = Unanswered;
        let _open = OpenQuestion::ask(&format!("{} ", Lines(question)));
        let line = lines.recv().await.flatten()?;
        std::mem::forget(unanswered); // The user's answer has ended the line.
        Some(line)
    }

    /// Asks a yes-or-no question; `None` when the user does not answer it.
    pub(crate) async fn agrees(&self, question: &str) -> Option<bool> {
        let answer = self.ask(&format!("{question} [y/N]")).await?;
        Some(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
    }
}

/// There is no terminal to ask on before anything is written.
pub(super) fn no_terminal() -> Failure {
    Failure::usage("there is no terminal on which to ask whether to take what is sent").next(
        "add --code to take it from senders who know the code, or --yes to take it without asking",
    )
}
