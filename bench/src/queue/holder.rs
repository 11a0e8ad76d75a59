//! The client half: many clients of Active Queueing that wait politely.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

use crate::host;
use crate::measure::{now, percentile};

/// An answer later than this is not in time.
const ON_TIME: Duration = Duration::from_secs(1);

/// What the clients saw.
#[derive(Serialize, Deserialize)]
pub(crate) struct Summary {
    /// Answers with a place, in time.
    pub(crate) on_time: u32,
    /// Of all answers.
    pub(crate) p50_ms: f64,
    /// Of all answers.
    pub(crate) p99_ms: f64,
}

/// Runs `count` clients, each asking `polls` times in the middle of its
/// window, and prints a [`Summary`].
pub(crate) fn run(to: SocketAddr, target: &str, count: u32, polls: u32) -> Result<()> {
    super::held::raise_descriptors(u64::from(count) + 100);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut times = runtime.block_on(all(to, target, count, polls));
    let late = times.iter().filter(|ms| **ms > ON_TIME.as_secs_f64() * 1e3).count();
    let summary = Summary {
        on_time: u32::try_from(times.len() - late)?,
        p50_ms: percentile(&mut times, 50),
        p99_ms: percentile(&mut times, 99),
    };
    println!("{}", serde_json::to_string(&summary)?);
    Ok(())
}

async fn all(to: SocketAddr, target: &str, count: u32, polls: u32) -> Vec<f64> {
    let mut clients = JoinSet::new();
    for n in 0..count {
        let request = host::request("GET", target, true);
        clients.spawn(async move {
            // Two thousand arrivals a second: a rush, not a flood.
            tokio::time::sleep(Duration::from_micros(u64::from(n) * 500)).await;
            let mut times = Vec::new();
            if let Err(error) = one(to, &request, n, polls, &mut times).await {
                eprintln!("client {n}: {error:#}");
            }
            times
        });
    }
    clients.join_all().await.concat()
}

async fn one(
    to: SocketAddr,
    request: &str,
    n: u32,
    polls: u32,
    times: &mut Vec<f64>,
) -> Result<()> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::new(host::address(n), 0))?;
    let mut stream = socket.connect(to).await?;
    stream.set_nodelay(true)?;
    for poll in 0..polls {
        let began = now();
        stream.write_all(request.as_bytes()).await?;
        let head = read_head(&mut stream).await?;
        times.push(began.elapsed().as_secs_f64() * 1e3);
        let window = window(&head).with_context(|| format!("no place in: {head}"))?;
        if poll + 1 < polls {
            tokio::time::sleep((window.0 + window.1) / 2).await;
        }
    }
    // Every client stays until the last has asked, as a waiting client does.
    tokio::time::sleep(Duration::from_millis(500)).await;
    Ok(())
}

async fn read_head(stream: &mut TcpStream) -> Result<String> {
    let mut head = Vec::with_capacity(512);
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut head).await? == 0 {
            bail!("closed while waiting");
        }
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

/// pollMin and pollMax of a reply.
fn window(head: &str) -> Option<(Duration, Duration)> {
    let line = head.lines().find_map(|line| line.strip_prefix("X-Queue: "))?;
    let value = |key: &str| {
        line.split(',')
            .find_map(|pair| pair.trim().strip_prefix(key)?.strip_prefix('='))
            .and_then(|seconds| Duration::try_from_secs_f64(seconds.parse().ok()?).ok())
    };
    Some((value("pollMin")?, value("pollMax")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_of_a_reply() {
        let head =
            "HTTP/1.1 503 Queued\r\nX-Queue: position=2,length=3,limit=1,pollMin=45,pollMax=120";
        assert_eq!(window(head), Some((Duration::from_secs(45), Duration::from_secs(120))));
        let scaled = "X-Queue: position=2,length=3,limit=1,pollMin=2.25,pollMax=6";
        assert_eq!(window(scaled), Some((Duration::from_millis(2_250), Duration::from_secs(6))));
        assert_eq!(window("HTTP/1.1 503 Busy"), None);
    }
}
