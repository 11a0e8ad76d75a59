//! How soon a kept connection hears that it must wait.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use anyhow::{Result, bail};

use crate::host::{self, Client};
use crate::measure::{median, now, percentile};
use crate::report::{Report, Target};

const NAME: &str = "busy.bin";

/// Every sample is a connection that has already been used once (a HEAD, which
/// is never queued) and then asks for the file: the time to its 503.
pub(crate) fn run(report: &mut Report, quick: bool) -> Result<()> {
    let samples = if quick { 100 } else { 1_000 };
    report.note("the reply of a busy server on a kept connection");
    let dir = tempfile::tempdir()?;
    let share = dir.path().join("share");
    std::fs::create_dir(&share)?;
    // Larger than every buffer on the way, so that the slot stays taken.
    std::fs::File::create(share.join(NAME))?.set_len(64 << 20)?;
    let settings = [
        "queue.slots=1",
        "queue.per_ip=1000000",
        "queue.hammer_requests=1000000",
        "limits.connections_per_ip=20000",
    ];
    let server = host::servent(&share, &dir.path().join("state"), &settings)?;
    let target = host::target_of(&server, NAME)?;

    let _owner = Client::owner(server.at, &target)?;
    let mut ours = times(server.at, &target, samples, 503)?;
    let echo = echo_server()?;
    let mut bare = times(echo, &target, samples, 503)?;
    let (p50, bare50) = (median(&mut ours), median(&mut bare));
    let beside = "bare echo of a head";
    report.add(
        ("queue", "503 on a kept connection, p50", "ms"),
        p50,
        (beside, Some(bare50)),
        &Target::AtMost(0.3),
    );
    report.add(
        ("queue", "503 on a kept connection, p99", "ms"),
        percentile(&mut ours, 99),
        (beside, Some(percentile(&mut bare, 99))),
        &Target::None,
    );
    Ok(())
}

fn times(to: SocketAddr, target: &str, samples: u32, status: u16) -> Result<Vec<f64>> {
    let mut out = Vec::new();
    for _ in 0..samples {
        let mut client = Client::connect(to)?;
        client.ask(&host::request("HEAD", target, false))?;
        let began = now();
        let answer = client.ask(&host::request("GET", target, true))?;
        let took = began.elapsed();
        if answer.status() != status {
            bail!("expected {status}, got {}", answer.head);
        }
        out.push(took.as_secs_f64() * 1e3);
    }
    Ok(out)
}

/// Answers every head with the same 503: what the machine itself costs.
fn echo_server() -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let at = listener.local_addr()?;
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let _ = stream.set_nodelay(true);
            let mut head = [0; 4096];
            while matches!(stream.read(&mut head), Ok(n) if n > 0) {
                let reply = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";
                if stream.write_all(reply).is_err() {
                    break;
                }
            }
        }
    });
    Ok(at)
}
