//! Questions to the user at the terminal.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, IsTerminal as _, Write as _};
use std::sync::Arc;

use servent_core::text::Lines;
use tokio::sync::Mutex;
use tokio::sync::mpsc::{Receiver, channel};

/// The user at a terminal, asked one question at a time.
#[derive(Clone)]
pub(crate) struct Person {
    lines: Arc<Mutex<Receiver<String>>>,
}

impl Person {
    /// The user, if there is a terminal that shows questions. Standard input
    /// may be the data to be sent, so the terminal itself is read.
    pub(crate) fn present() -> Option<Self> {
        if !io::stderr().is_terminal() {
            return None;
        }
        let terminal = File::open("/dev/tty").ok()?;
        let (send, lines) = channel(1);
        // A read from a terminal cannot be cancelled, so it has a thread that
        // ends with the program.
        std::thread::spawn(move || {
            for line in BufReader::new(terminal).lines().map_while(Result::ok) {
                if send.blocking_send(line).is_err() {
                    return;
                }
            }
        });
        Some(Self { lines: Arc::new(Mutex::new(lines)) })
    }

    /// Asks, and waits for a line; `None` when there will be none. Dropping the
    /// future withdraws the question.
    pub(crate) async fn ask(&self, question: &str) -> Option<String> {
        let mut lines = self.lines.lock().await;
        while lines.try_recv().is_ok() {} // Lines typed earlier are no answer.
        // Without standard error nobody sees the question and nobody answers.
        let _ = write!(io::stderr(), "{} ", Lines(question));
        lines.recv().await
    }

    /// Asks a yes-or-no question.
    pub(crate) async fn agrees(&self, question: &str) -> bool {
        let answer = self.ask(&format!("{question} [y/N]")).await;
        answer.is_some_and(|it| matches!(it.trim().to_lowercase().as_str(), "y" | "yes"))
    }
}
