//! A file from `send` to `receive`, beside a TCP connection that does no more
//! than carry it.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, ensure};

use super::files::blob;
use super::{MIB, by_turns, program, seconds};
use crate::measure::now;
use crate::report::{Report, Target};

/// What both sides know where it is encrypted.
const CODE: &str = "ocean-pepper-violin";

pub(super) fn run(report: &mut Report, quick: bool) -> Result<()> {
    let (size, rounds) = if quick { (256 * MIB, 3) } else { (2_048 * MIB, 5) };
    let dir = tempfile::tempdir()?;
    blob(&dir.path().join("film"), size)?;
    for (code, how, wanted) in [(None, "", 0.8), (Some(CODE), ", encrypted", 0.5)] {
        let pairs = by_turns(
            (dir.path(), size, rounds),
            ("ours", || ours(dir.path(), code)),
            ("plain", || plain(dir.path())),
        )?;
        let case = format!("send | receive of {} MiB{how}", size / MIB);
        report.add_pairs(("everyday", case, "MiB/s"), "TCP", &pairs, &Target::RatioAtLeast(wanted));
    }
    Ok(())
}

/// Until both have said that all is there. With a code it is encrypted.
fn ours(dir: &Path, code: Option<&str>) -> Result<f64> {
    let at = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.to_string();
    let mut receive = program(dir)?;
    receive.args(["receive", "-q", "--yes", "--listen", &at, "-o", "ours", "--state", "to"]);
    let mut send = program(dir)?;
    send.args(["send", "-q", &at, "film", "--state", "from"]);
    for side in [&mut receive, &mut send] {
        match code {
            Some(code) => side.env("SERVENT_CODE", code),
            None => side.arg("--open"),
        };
    }
    let mut receiver = receive.spawn()?;
    let took = seconds(send);
    let began = now();
    let ended = receiver.wait()?;
    ensure!(ended.success(), "the receiver ended with {ended}");
    Ok(took? + began.elapsed().as_secs_f64())
}

/// From file to file over one connection, without any check.
fn plain(dir: &Path) -> Result<f64> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let at = listener.local_addr()?;
    let (from, to) = (dir.join("film"), dir.join("plain"));
    let began = now();
    let sender = std::thread::spawn(move || -> io::Result<u64> {
        io::copy(&mut File::open(from)?, &mut TcpStream::connect(at)?)
    });
    let (mut stream, _) = listener.accept()?;
    io::copy(&mut stream, &mut File::create(to)?).context("the copy broke off")?;
    sender.join().map_err(|_| anyhow!("the sender broke off"))??;
    Ok(began.elapsed().as_secs_f64())
}
