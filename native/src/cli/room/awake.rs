//! A machine on which a room is open does not fall asleep, where systemd runs.

use std::process::{Child, Command, Stdio};

/// Keeps the machine awake until it is dropped, or until this process has ended in
/// whatever way: `cat` waits for the end of its input, which we hold.
#[derive(Debug)]
pub(crate) struct Awake(Option<Child>);

impl Awake {
    /// Nothing is said where it cannot be done: a machine without it is used all the
    /// same, and its owner knows it.
    pub(crate) fn begin() -> Self {
        let child = Command::new("systemd-inhibit")
            .args(["--what=sleep:idle", "--who=servent", "--why=A room is open", "cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self(child.ok())
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            drop(child.stdin.take());
            // It ends by itself; if it does not, its end is no reason to wait.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
