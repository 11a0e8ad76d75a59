//! How the commands of one machine find a running servent: `control.json` in
//! its state folder says where its lab listens and which token it wants.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::exit::{Exit, Failure, said};

/// Longest wait for a servent of this machine.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a running servent leaves in its state folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Control {
    /// Where its lab listens.
    pub(crate) address: SocketAddr,
    /// What changes of its state need.
    pub(crate) token: String,
    /// Its process.
    pub(crate) pid: u32,
}

/// The file of a running servent; removed when dropped.
pub(crate) struct ControlFile(PathBuf);

/// A fresh token of 128 random bits.
pub(crate) fn token() -> Result<String, Failure> {
    let mut bytes = [0; 16];
    let read = fs::File::open("/dev/urandom")
        .and_then(|mut f| std::io::Read::read_exact(&mut f, &mut bytes));
    read.map_err(|e| Failure::file("read", Path::new("/dev/urandom"), &e))?;
    Ok(HEXLOWER.encode(&bytes))
}

fn file(state: &Path) -> PathBuf {
    state.join("control.json")
}

impl ControlFile {
    /// Writes it, readable by nobody else.
    pub(crate) fn write(state: &Path, control: &Control) -> Result<Self, Failure> {
        let path = file(state);
        let fresh = state.join("control.json.new");
        let failed = |e: std::io::Error| Failure::file("write", &path, &e);
        let _ = fs::remove_file(&fresh);
        let mut out = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&fresh)
            .map_err(failed)?;
        let text = serde_json::to_string(control).unwrap_or_default();
        out.write_all(text.as_bytes()).map_err(failed)?;
        fs::rename(&fresh, &path).map_err(failed)?;
        Ok(Self(path))
    }
}

impl Drop for ControlFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

impl Control {
    /// The servent that runs with this state folder, if its file is there.
    pub(crate) fn find(state: &Path) -> Result<Self, Failure> {
        let path = file(state);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Err(not_running(state)),
            Err(e) => return Err(Failure::file("read", &path, &e)),
        };
        serde_json::from_str(&text).map_err(|_| {
            Failure::new(Exit::Foreign, format!("{} is not a servent's", path.display()))
                .next("remove it, and start the servent of that folder again if one runs")
        })
    }

    /// `GET target`, as JSON.
    pub(crate) async fn get(
        &self,
        state: &Path,
        target: &str,
    ) -> Result<serde_json::Value, Failure> {
        let asked = tokio::time::timeout(PATIENCE, self.ask(target)).await;
        let reply = match asked {
            Ok(Ok(reply)) => reply,
            Ok(Err(e)) if e.kind() == std::io::ErrorKind::ConnectionRefused => {
                return Err(not_running(state));
            }
            Ok(Err(e)) => return Err(self.silent(&said(&e))),
            Err(_) => return Err(self.silent("it did not answer in 5 s")),
        };
        let text = String::from_utf8_lossy(&reply);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
        if head.split(' ').nth(1) != Some("200") {
            return Err(self.silent(body.trim()));
        }
        serde_json::from_str(body).map_err(|e| self.silent(&e.to_string()))
    }

    async fn ask(&self, target: &str) -> std::io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect(self.address).await?;
        // HTTP/1.0: the answer ends with the connection and is never chunked.
        let request = format!("GET {target} HTTP/1.0\r\nHost: {}\r\n\r\n", self.address);
        stream.write_all(request.as_bytes()).await?;
        let mut reply = Vec::new();
        stream.read_to_end(&mut reply).await?;
        Ok(reply)
    }

    fn silent(&self, why: &str) -> Failure {
        let Self { address, pid, .. } = self;
        Failure::new(Exit::Network, format!("the servent at {address} (process {pid}) said: {why}"))
            .next("look whether that process hangs; stop it and start it again")
    }
}

fn not_running(state: &Path) -> Failure {
    Failure::new(Exit::Running, format!("no servent runs with the state in {}", state.display()))
        .next("start one with `servent share DIR`, or name its folder with --state")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_file_is_private_and_goes_with_its_owner() {
        let dir = tempfile::tempdir().unwrap();
        let control = Control {
            address: SocketAddr::from(([127, 0, 0, 1], 6380)),
            token: token().unwrap(),
            pid: 7,
        };
        let written = ControlFile::write(dir.path(), &control).unwrap();
        assert_eq!(Control::find(dir.path()).unwrap(), control);
        let mode = fs::metadata(file(dir.path())).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        drop(written);
        assert_eq!(Control::find(dir.path()).unwrap_err().exit, Exit::Running);
    }

    #[test]
    fn a_foreign_file_is_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(file(dir.path()), "hello").unwrap();
        assert_eq!(Control::find(dir.path()).unwrap_err().exit, Exit::Foreign);
    }
}
