//! The access log: every request in the combined format that the tools for web
//! servers read.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use servent::Access;
use servent::sys::{is_same_file, open_log};
use servent_core::time::Instant;

use crate::exit::Failure;

/// Records that may wait for the disk; further ones are dropped.
const WAITING: usize = 4_096;

/// Opens the log and returns where to send the records to write.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn open(path: &Path) -> Result<SyncSender<Access>, Failure> {
    let log = Log::open(path).map_err(|e| Failure::file("write", path, &e))?;
    let (to, records) = sync_channel(WAITING);
    let started =
        std::thread::Builder::new().name("access log".into()).spawn(move || write(log, &records));
    started.map_err(|e| Failure::file("write", path, &e))?;
    Ok(to)
}

fn write(mut log: Log, records: &Receiver<Access>) {
    while let Ok(first) = records.recv() {
        let mut text = line(&first);
        // Write everything that is already queued at once.
        records.try_iter().for_each(|access| text.push_str(&line(&access)));
        if let Err(error) = log.write(&text) {
            tracing::warn!(file = %log.path.display(), %error, "the access log cannot be written");
        }
    }
}

/// The log file; reopened when it was moved away (by `logrotate`).
struct Log {
    path: PathBuf,
    file: File,
}

impl Log {
    fn open(path: &Path) -> io::Result<Self> {
        let file = open_log(path)?;
        Ok(Self { path: path.to_path_buf(), file })
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        if !is_same_file(&self.file, &self.path)? {
            *self = Self::open(&self.path)?;
        }
        self.file.write_all(text.as_bytes())
    }
}

/// One line. Text from clients is escaped, so that one line is one request.
fn line(access: &Access) -> String {
    let mut line = String::new();
    let bytes = access.bytes.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string());
    let agent = access.agent.as_deref().unwrap_or("-");
    // A blank would end the name.
    let user = access.user.as_deref().unwrap_or("-").escape_default().to_string();
    let _ = writeln!(
        line,
        "{} - {} [{}] \"{} {} HTTP/1.{}\" {} {bytes} \"-\" \"{}\"",
        host(access.peer),
        user.replace(' ', "\\u{20}"),
        date(access.at),
        access.method.escape_default(),
        access.target.escape_default(),
        access.minor,
        access.status,
        agent.escape_default(),
    );
    line
}

/// An address as web servers write it, IPv4-mapped addresses as IPv4.
fn host(peer: SocketAddr) -> String {
    peer.ip().to_canonical().to_string()
}

fn date(at: Instant) -> String {
    let micros = i64::try_from(at.as_micros()).unwrap_or(i64::MAX);
    let time = jiff::Timestamp::from_microsecond(micros).unwrap_or(jiff::Timestamp::MAX);
    time.strftime("%d/%b/%Y:%H:%M:%S +0000").to_string()
}

#[cfg(test)]
mod tests {
    use servent_core::time::Duration;

    use super::*;

    fn access() -> Access {
        Access {
            at: Instant::from_micros(1_795_390_369_000_000),
            peer: "[::ffff:10.0.0.7]:4711".parse().unwrap(),
            method: "GET".into(),
            target: "/get/0/a\"b\nc".into(),
            minor: 1,
            range: None,
            agent: Some("curl/8.5".into()),
            user: None,
            status: 206,
            bytes: Some(10),
            took: Duration::from_secs(2),
            waited: None,
        }
    }

    #[test]
    fn a_request_is_one_line_whatever_it_asks_for() {
        let wanted = "10.0.0.7 - - [22/Nov/2026:23:32:49 +0000] \
                      \"GET /get/0/a\\\"b\\nc HTTP/1.1\" 206 10 \"-\" \"curl/8.5\"\n";
        assert_eq!(line(&access()), wanted);
        let broken = Access { bytes: None, agent: None, ..access() };
        assert!(line(&broken).ends_with("206 - \"-\" \"-\"\n"));
        let ann = Access { user: Some("ann lee".into()), ..access() };
        assert!(line(&ann).starts_with("10.0.0.7 - ann\\u{20}lee [22/Nov/2026"), "{}", line(&ann));
    }

    #[test]
    fn a_log_that_was_moved_away_is_begun_anew() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("access.log");
        let mut log = Log::open(&path).unwrap();
        log.write("one\n").unwrap();
        std::fs::rename(&path, dir.path().join("access.log.1")).unwrap();
        log.write("two\n").unwrap();
        log.write("three\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "two\nthree\n");
    }
}
