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

/// Rounds of ours, the bare loop and nginx. Many short ones: each sees the same
/// moment of the machine, and is compared with its own neighbours only. Which
/// one begins changes with every round, for those that follow find warm caches.
pub(crate) fn run(report: &mut Report, quick: bool) -> Result<()> {
    let (size, rounds) = if quick { (64 * MIB, 9) } else { (256 * MIB, 31) };
    report.note("one upload over loopback");
    let dir = tempfile::tempdir()?;
    let share = dir.path().join("share");
    std::fs::create_dir(&share)?;
    write_blob(&share.join(NAME), size)?;

    let ours =
        host::servent(&share, &dir.path().join("state"), &["queue.hammer_requests=1000000"])?;
    let target = host::target_of(&ours, NAME)?;
    let nginx = host::nginx(&share, dir.path())?;
    let (mut bare, mut peer) = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        let mut speeds = [0.0; 3];
        for turn in 0..3 {
            let who = (round + turn) % 3;
            speeds[who] = match who {
                0 => fetch(ours.at, &target, size)?,
                1 => fetch(bare_server(&share.join(NAME), size)?, "/", size)?,
                _ => match &nginx {
                    Some(nginx) => fetch(nginx.at, &format!("/{NAME}"), size)?,
                    None => continue,
                },
            };
        }
        // The first round only warms the page cache.
        if round > 0 {
            bare.push((speeds[0], speeds[1]));
            peer.push((speeds[0], speeds[2]));
        }
    }
    let case = format!("one upload of {} MiB", size / MIB);
    let wanted = Target::RatioAtLeast(0.9);
    report.add_pairs(("queue", case.as_str(), "MiB/s"), "bare sendfile loop", &bare, &wanted);
    if nginx.is_some() {
        report.add_pairs(("queue", case, "MiB/s"), "nginx", &peer, &wanted);
    } else {
        let mine = median(&mut bare.iter().map(|pair| pair.0).collect::<Vec<_>>());
        report.add(("queue", case, "MiB/s"), mine, ("nginx (not installed)", None), &wanted);
    }
    Ok(())
}

/// A file that is not all zeros, so that no file system or link shortens it.
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
