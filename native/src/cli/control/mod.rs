//! How commands on the same machine talk to a running servent: through
//! `control.sock` in its state folder, which only its user may open. It exists
//! whether or not the lab is on.

mod file;
mod server;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use servent::process_of_state;
use servent::sys::ControlSocket;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

pub(crate) use self::file::{ControlFile, LabAccess, token};
pub(crate) use self::server::ControlServer;
use crate::exit::{Exit, Failure, error_text};

/// How long to wait for a servent on this machine, which may have to scan a
/// large folder first.
const PATIENCE: Duration = Duration::from_secs(30);

/// The running servent of a state folder, if there is one.
pub(crate) struct ControlClient {
    state: PathBuf,
}

impl ControlClient {
    pub(crate) fn for_state(state: &Path) -> Self {
        Self { state: state.to_path_buf() }
    }

    /// `GET target`, as JSON.
    ///
    /// # Errors
    /// No servent runs with this state, or it does not respond.
    pub(crate) async fn get(&self, target: &str) -> Result<Value, Failure> {
        let body = self.ask("GET", target, "").await?;
        serde_json::from_str(&body).map_err(|e| self.silent(&e.to_string()))
    }

    /// `method target` with a JSON body, for requests that change something.
    ///
    /// # Errors
    /// No servent runs with this state, it does not respond, or it refuses.
    pub(crate) async fn tell(
        &self,
        method: &str,
        target: &str,
        body: &Value,
    ) -> Result<Value, Failure> {
        let answer = self.ask(method, target, &body.to_string()).await?;
        match answer.is_empty() {
            true => Ok(Value::Null),
            false => serde_json::from_str(&answer).map_err(|e| self.silent(&e.to_string())),
        }
    }

    /// `POST target`, for requests that change something.
    ///
    /// # Errors
    /// No servent runs with this state, it does not respond, or it refuses.
    pub(crate) async fn post(&self, target: &str) -> Result<(), Failure> {
        self.ask("POST", target, "").await.map(drop)
    }

    /// The body of the response.
    async fn ask(&self, method: &str, target: &str, body: &str) -> Result<String, Failure> {
        let asked = tokio::time::timeout(PATIENCE, self.exchange(method, target, body)).await;
        let reply = match asked {
            Ok(Ok(reply)) => reply,
            Ok(Err(e)) if is_not_listening(&e) => return Err(self.not_running()),
            Ok(Err(e)) => return Err(self.silent(&error_text(&e))),
            Err(_) => return Err(self.silent("it did not answer in 30 s")),
        };
        let text = String::from_utf8_lossy(&reply);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
        let exit = match head.split(' ').nth(1) {
            Some("200" | "204") => return Ok(body.to_owned()),
            Some("404" | "409") => Exit::Usage,
            Some("422") => Exit::Disk,
            _ => return Err(self.silent(body.trim())),
        };
        Err(Failure::new(exit, body.trim()))
    }

    async fn exchange(&self, method: &str, target: &str, body: &str) -> io::Result<Vec<u8>> {
        let mut stream = ControlSocket::for_state(&self.state)?.connect().await?;
        let length = body.len();
        // HTTP/1.0: the response ends with the connection and is never chunked.
        let request = format!(
            "{method} {target} HTTP/1.0\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).await?;
        let mut reply = Vec::new();
        stream.read_to_end(&mut reply).await?;
        Ok(reply)
    }

    fn silent(&self, why: &str) -> Failure {
        let state = self.state.display();
        Failure::new(Exit::Network, format!("the servent with the state in {state} said: {why}"))
            .next("look whether that process hangs; stop it and start it again")
    }

    fn not_running(&self) -> Failure {
        let state = self.state.display();
        if let Some(process) = process_of_state(&self.state) {
            let what = "starts, or stands by in its site, and cannot be asked yet";
            let told = format!("the servent with the state in {state} (process {process}) {what}");
            return Failure::new(Exit::Running, told)
                .next("see who leads its site with `servent site status`");
        }
        Failure::new(Exit::Running, format!("no servent runs with the state in {state}"))
            .next("start one with `servent share DIR`, or name its folder with --state")
    }
}

/// True when no servent listens there: no socket, or one left by a killed process.
fn is_not_listening(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn no_server_there_is_told_apart_from_silence() {
        let dir = tempfile::tempdir().unwrap();
        let control = ControlClient::for_state(dir.path());
        assert_eq!(control.get("/api/status").await.unwrap_err().exit, Exit::Running);
        // What a killed process leaves behind.
        let socket = ControlSocket::for_state(dir.path()).unwrap();
        drop(socket.listen().unwrap());
        assert!(socket.path().exists());
        assert_eq!(control.get("/api/status").await.unwrap_err().exit, Exit::Running);
    }
}
