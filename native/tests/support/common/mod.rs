//! Servents on loopback for tests, and a raw client beside them.
#![allow(dead_code, unreachable_pub, reason = "every test file uses its own part of this")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use servent::driver::{Driver, Handle, ServentOptions};
use servent_core::id::FetchId;
use servent_core::node::{DownloadSource, FetchCommand, Get, NodeAnswer, NodeCommand};
use tempfile::TempDir;

/// Nothing on loopback takes longer, on a busy machine neither.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A folder with one shared file of `size` bytes that repeat nowhere soon.
pub fn shared(name: &str, size: usize) -> (TempDir, Vec<u8>) {
    let dir = tempfile::tempdir().unwrap();
    let mut x = 0x9e37_79b9_7f4a_7c15_u64 ^ size as u64;
    let bytes: Vec<u8> = std::iter::repeat_with(|| {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        x as u8
    })
    .take(size)
    .collect();
    std::fs::write(dir.path().join(name), &bytes).unwrap();
    (dir, bytes)
}

/// Options of a servent that shares `dir` with everything scaled down.
pub fn sharing(state: &Path, dir: &Path, slots: u32, scale: u32) -> ServentOptions {
    let mut options = ServentOptions::under(state);
    options.shares = vec![dir.to_owned()];
    options.node.queue.slots = slots;
    options.node.queue.time_scale = scale;
    options.node.fetch.time_scale = scale;
    options.node.fetch.place.time_scale = scale;
    options
}

pub async fn start(options: ServentOptions) -> Handle {
    Driver::start(options).await.expect("it starts")
}

/// Waits until `done` says so, or fails.
pub async fn until(what: &str, mut done: impl AsyncFnMut() -> bool) {
    let wait = async {
        while !done().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.unwrap_or_else(|_| panic!("not in time: {what}"));
}

pub fn get(name: &str, from: SocketAddr, target: &str) -> NodeCommand {
    let source = DownloadSource { at: from, target: target.into(), host: from.to_string() };
    NodeCommand::Fetch(FetchCommand::Get(Get {
        name: name.into(),
        sha1: None,
        sources: vec![source],
    }))
}

/// Waits for the end of the only download; its path.
pub async fn fetched(
    handle: &Handle,
    answers: &mut tokio::sync::broadcast::Receiver<NodeAnswer>,
) -> Result<PathBuf, NodeAnswer> {
    let wait = async {
        loop {
            match answers.recv().await.expect("the servent runs") {
                NodeAnswer::Fetched { fetch, .. } => {
                    return Ok(handle.path_of(fetch).expect("a path"));
                }
                end @ (NodeAnswer::Failed { .. } | NodeAnswer::Stopped) => return Err(end),
                _ => {}
            }
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.expect("it ends in time")
}

pub const FIRST: FetchId = FetchId(0);

/// A stranger who speaks HTTP by hand.
pub struct Raw(pub TcpStream, Vec<u8>);

impl Raw {
    pub fn connect(to: SocketAddr) -> Self {
        let stream = TcpStream::connect(to).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self(stream, Vec::new())
    }

    pub fn send(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).unwrap();
    }

    /// Asks for a file with further header lines.
    pub fn ask(&mut self, target: &str, headers: &str) -> (u16, String) {
        self.send(&format!("GET {target} HTTP/1.1\r\nHost: x\r\n{headers}\r\n"));
        self.head()
    }

    /// The status and the head of the next reply.
    pub fn head(&mut self) -> (u16, String) {
        let end = loop {
            if let Some(at) = self.1.windows(4).position(|w| w == b"\r\n\r\n") {
                break at + 4;
            }
            self.more().expect("a head before the end");
        };
        let head = String::from_utf8(self.1.drain(..end).collect()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head)
    }

    /// The next `n` bytes.
    pub fn body(&mut self, n: usize) -> Vec<u8> {
        while self.1.len() < n {
            self.more().expect("a body before the end");
        }
        self.1.drain(..n).collect()
    }

    /// True when the other end has closed and nothing is left.
    pub fn is_over(&mut self) -> bool {
        self.1.is_empty() && self.more().is_none()
    }

    fn more(&mut self) -> Option<()> {
        let mut buffer = [0; 65_536];
        match self.0.read(&mut buffer) {
            Ok(0) | Err(_) => None,
            Ok(n) => {
                self.1.extend(&buffer[..n]);
                Some(())
            }
        }
    }
}

/// The value of a header in a head.
pub fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (n, value) = line.split_once(':')?;
        n.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}
