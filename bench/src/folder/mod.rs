//! A folder of many small files from one machine to another, by `get` and by
//! `send`, beside `rsync -a` with its own server: near, and with a latency.

mod link;
mod trees;

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use anyhow::{Result, bail};

use self::trees::TreeShape;
use crate::everyday::{is_here, program, quiet, seconds};
use crate::host::{self, PATIENCE};
use crate::measure::{now, pause};
use crate::report::{Report, Target};

/// The folder that travels.
const NAME: &str = "project";
/// Round trips in milliseconds.
const LATENCIES: [u64; 2] = [0, 20];

/// All of it.
pub(crate) fn run(report: &mut Report, quick: bool) -> Result<()> {
    report.note("a folder of many files");
    let rounds = if quick { 1 } else { 3 };
    for shape in [TreeShape::TINY, TreeShape::SMALL] {
        let dir = tempfile::tempdir()?;
        let work = dir.path();
        fs::create_dir(work.join("share"))?;
        shape.write(&work.join("share").join(NAME))?;
        let server = host::servent(&work.join("share"), &work.join("server"), &[])?;
        host::wait_for(&server, &format!("/share/{NAME}/{}", shape.last()))?;
        let daemon = RsyncDaemon::start(work)?;
        if daemon.is_none() {
            report.note("no rsync here: nothing stands beside ours");
        }
        for latency in LATENCIES {
            let round_trip = Duration::from_millis(latency);
            let ours_at = link::tcp(server.at, round_trip)?;
            let theirs_at = daemon.as_ref().map(|it| link::tcp(it.at, round_trip)).transpose()?;
            let (mut gets, mut sends) = (Vec::new(), Vec::new());
            let served = daemon.as_ref().map(|it| it.child.id());
            for _ in 0..rounds {
                let pull = theirs_at.map(|at| taken(served, || rsync(work, at, true)));
                let ours = taken(Some(server.pid()), || get(work, ours_at))?;
                gets.push((ours, pull.transpose()?));
                let push = theirs_at.map(|at| taken(served, || rsync(work, at, false)));
                let ours = taken(None, || send(work, round_trip))?;
                sends.push((ours, push.transpose()?));
            }
            for (what, taken) in [("get", gets), ("send", sends)] {
                let case = format!("{what} of {shape}, round trip {latency} ms");
                tell(report, case.clone(), &taken, |taken| taken.seconds, 1.0);
                let case = format!("processor time of {case}");
                tell(report, case, &taken, |taken| taken.busy, 1.5);
            }
        }
    }
    Ok(())
}

/// What a copy has taken.
#[derive(Clone, Copy)]
struct Taken {
    seconds: f64,
    /// Seconds that both sides have had a processor.
    busy: f64,
}

/// Measures a copy, which returns its seconds, together with the server that it uses.
fn taken(server: Option<u32>, copy: impl FnOnce() -> Result<f64>) -> Result<Taken> {
    let busy = || -> Result<f64> {
        let served = |pid| anyhow::Ok(host::busy(pid)? + host::children_busy(pid)?);
        Ok(host::children_busy(std::process::id())? + server.map_or(Ok(0.0), served)?)
    };
    let before = busy()?;
    let seconds = copy()?;
    Ok(Taken { seconds, busy: busy()? - before })
}

/// A figure of ours beside that of rsync.
fn tell(
    report: &mut Report,
    case: String,
    taken: &[(Taken, Option<Taken>)],
    figure: impl Fn(&Taken) -> f64,
    at_most: f64,
) {
    let wanted = Target::RatioAtMost(at_most);
    let pairs: Option<Vec<(f64, f64)>> =
        taken.iter().map(|(ours, theirs)| Some((figure(ours), figure(theirs.as_ref()?)))).collect();
    match pairs {
        Some(pairs) => report.add_pairs(("folder", case, "s"), "rsync -a", &pairs, &wanted),
        None => {
            let mut ours: Vec<f64> = taken.iter().map(|(ours, _)| figure(ours)).collect();
            let ours = crate::measure::median(&mut ours);
            report.add(("folder", case, "s"), ours, ("no rsync here", None), &wanted);
        }
    }
}

fn get(work: &Path, at: SocketAddr) -> Result<f64> {
    let mut get = program(work)?;
    let url = format!("http://{at}/share/{NAME}/");
    get.args(["get", "-q", &url, "-o", "here/", "--state", "get"]);
    came(work, seconds(get)?)
}

/// Until the receiver has confirmed that all is there; then it would wait for another
/// sender.
fn send(work: &Path, round_trip: Duration) -> Result<f64> {
    let at = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
    let through = link::udp(at, round_trip)?.to_string();
    let at = at.to_string();
    let mut receive = program(work)?;
    receive.args(["receive", "-q", "--yes", "--open", "--listen", &at]);
    receive.args(["-o", "here/", "--state", "to"]);
    let mut send = program(work)?;
    send.args(["send", "-q", "--open", &through, "--state", "from"]);
    send.arg(Path::new("share").join(NAME));
    let mut receiver = receive.spawn()?;
    let took = seconds(send);
    receiver.kill()?;
    receiver.wait()?;
    came(work, took?)
}

fn rsync(work: &Path, at: SocketAddr, pull: bool) -> Result<f64> {
    let mut rsync = quiet(Command::new("rsync"), work);
    fs::create_dir_all(work.join("here"))?;
    rsync.arg("-a");
    match pull {
        true => rsync.arg(format!("rsync://{at}/share/{NAME}")).arg("here/"),
        false => rsync.arg(format!("share/{NAME}")).arg(format!("rsync://{at}/here/")),
    };
    came(work, seconds(rsync)?)
}

/// Checks that a copy is whole, and puts it aside: a file system that has just removed
/// thousands of files is slow to make others, whose copy they are.
fn came(work: &Path, took: f64) -> Result<f64> {
    let here = work.join("here");
    trees::compare(&work.join("share").join(NAME), &here.join(NAME))?;
    let aside = (0..).map(|n| work.join(format!("before-{n}"))).find(|path| !path.exists());
    fs::rename(here, aside.unwrap_or_default())?;
    Ok(took)
}

/// The server of rsync.
struct RsyncDaemon {
    child: Child,
    at: SocketAddr,
}

impl Drop for RsyncDaemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl RsyncDaemon {
    /// Serves the folders of the measurement; `None` when there is no rsync.
    fn start(work: &Path) -> Result<Option<Self>> {
        if !is_here("rsync") {
            return Ok(None);
        }
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let (at, config) = (SocketAddr::from(([127, 0, 0, 1], port)), work.join("rsyncd.conf"));
        let about = work.metadata()?;
        let mut text = format!(
            "use chroot = no\nuid = {}\ngid = {}\naddress = 127.0.0.1\nport = {port}\n\
             pid file = {}\n",
            about.uid(),
            about.gid(),
            work.join("rsyncd.pid").display(),
        );
        for (name, read_only) in [("share", "yes"), ("here", "no")] {
            let path = work.join(name);
            text += &format!("[{name}]\npath = {}\nread only = {read_only}\n", path.display());
        }
        fs::write(&config, text)?;
        let mut daemon = quiet(Command::new("rsync"), work);
        daemon.args(["--daemon", "--no-detach"]).arg(format!("--config={}", config.display()));
        let daemon = Self { child: daemon.spawn()?, at };
        let deadline = now() + PATIENCE;
        while TcpStream::connect(at).is_err() {
            if now() > deadline {
                bail!("rsync does not answer");
            }
            pause();
        }
        Ok(Some(daemon))
    }
}
