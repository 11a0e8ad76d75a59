//! One upload over loopback, beside a bare sendfile loop and nginx.

use std::fs::File;
use std::io::Read as _;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::host::{self, Client};
use crate::measure::{median, now};
use crate::report::{Report, Target};

const NAME: &str = "blob.bin";
const MIB: u64 = 1 << 20;

/// Ours, the bare loop and nginx take turns, so that all see the same machine.
pub(crate) fn run(report: &mut Report, quick: bool) -> Result<()> {
    let (size, rounds) = if quick { (64 * MIB, 3) } else { (512 * MIB, 9) };
    report.note("one upload over loopback");
    let dir = tempfile::tempdir()?;
    let share = dir.path().join("share");
    std::fs::create_dir(&share)?;
    write_blob(&share.join(NAME), size)?;

    let ours =
        host::servent(&share, &dir.path().join("state"), &["queue.hammer_requests=1000000"])?;
    let target = host::target_of(&ours, NAME)?;
    let nginx = host::nginx(&share, dir.path())?;
    let (mut mine, mut bare, mut peer) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=rounds {
        let loop_at = bare_server(&share.join(NAME), size)?;
        let times = [
            fetch(ours.at, &target, size)?,
            fetch(loop_at, "/", size)?,
            match &nginx {
                Some(nginx) => fetch(nginx.at, &format!("/{NAME}"), size)?,
                None => 0.0,
            },
        ];
        if round > 0 {
            // The first round only warms the page cache.
            mine.push(times[0]);
            bare.push(times[1]);
            peer.push(times[2]);
        }
    }
    let (ours, bare) = (median(&mut mine), median(&mut bare));
    let case = format!("one upload of {} MiB", size / MIB);
    let wanted = Target::RatioAtLeast(0.9);
    report.add(
        ("queue", case.as_str(), "MiB/s"),
        ours,
        ("bare sendfile loop", Some(bare)),
        &wanted,
    );
    let peer = nginx.as_ref().map(|_| median(&mut peer));
    let name = if peer.is_some() { "nginx" } else { "nginx (not installed)" };
    report.add(("queue", case, "MiB/s"), ours, (name, peer), &wanted);
    Ok(())
}

/// A file that is not all zeros, so that nobody can cheat.
fn write_blob(path: &Path, size: u64) -> Result<()> {
    use std::io::Write as _;
    let mut rng = servent_core::rng::Rng::new(7);
    let block: Vec<u8> = (0..MIB / 64).flat_map(|_| rng.bytes::<64>()).collect();
    let mut file = File::create(path)?;
    for _ in 0..size / MIB {
        file.write_all(&block)?;
    }
    Ok(file.sync_all()?)
}

/// Downloads once; MiB a second from the request to the last byte.
fn fetch(from: SocketAddr, target: &str, size: u64) -> Result<f64> {
    let mut client = Client::connect(from)?;
    let began = now();
    let answer = client.ask(&host::request("GET", target, false))?;
    if answer.status() != 200 {
        bail!("{from} answered {}", answer.head);
    }
    let got = client.drain(&answer)?;
    if got as u64 != size {
        bail!("{from} sent {got} bytes of {size}");
    }
    Ok((size / MIB) as f64 / began.elapsed().as_secs_f64())
}

/// The least a server can do: read a head, write a head, sendfile.
fn bare_server(path: &Path, size: u64) -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let at = listener.local_addr()?;
    let file = File::open(path)?;
    std::thread::spawn(move || serve_once(&listener, &file, size));
    Ok(at)
}

fn serve_once(listener: &TcpListener, file: &File, size: u64) -> Result<()> {
    use std::io::Write as _;
    let (mut stream, _): (TcpStream, _) = listener.accept()?;
    let n = stream.read(&mut [0; 4096])?;
    n.checked_sub(1).context("closed before the request")?;
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n")?;
    let mut offset = 0;
    while offset < size {
        let rest = usize::try_from(size - offset)?;
        if rustix::fs::sendfile(&stream, file, Some(&mut offset), rest)? == 0 {
            bail!("the file ended early");
        }
    }
    Ok(())
}
