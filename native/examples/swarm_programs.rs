//! A swarm of real processes on the loopback, beside the fluid bound:
//!
//! ```text
//! cargo build --release -p servent
//! cargo run --release -p servent --example swarm_programs -- 32 64 0 0
//! ```
//!
//! The numbers: clients, MiB of the file, per cent of the clients that nobody
//! can connect to, and clients that are killed half-way. Every client may send
//! 1 MB a second and the source 2 MB. Prints one line: seconds until the last
//! client had all, the bound, their ratio, and copies the source has sent.

use std::error::Error;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};

use servent::Clock;
use servent_core::id::Sha1;
use servent_core::rng::Rng;

type Failed = Box<dyn Error>;

const UP: f64 = 500_000.0;
const SOURCE: f64 = 1_000_000.0;

/// A program, ended with us.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill(); // It may have ended.
        let _ = self.0.wait();
    }
}

fn start(
    servent: &Path,
    place: &Path,
    arguments: &[&str],
    name: usize,
    told: &Sender<(usize, String)>,
) -> Result<Program, Failed> {
    let mut command = Command::new(servent);
    command.args(arguments).args(["--json"]).current_dir(place).env("HOME", place);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let out = BufReader::new(child.stdout.take().ok_or("no output")?);
    let told = told.clone();
    std::thread::spawn(move || {
        for line in out.lines().map_while(Result::ok) {
            if told.send((name, line)).is_err() {
                return;
            }
        }
    });
    Ok(Program(child))
}

/// The next word of the program `name` about `event`.
fn next(
    told: &Receiver<(usize, String)>,
    event: &str,
) -> Result<(usize, serde_json::Value), Failed> {
    loop {
        let (name, line) = told.recv()?;
        let fact: serde_json::Value = serde_json::from_str(&line)?;
        if fact["event"] == event {
            return Ok((name, fact));
        }
    }
}

fn main() -> Result<(), Failed> {
    let numbers: Vec<usize> =
        std::env::args().skip(1).map(|n| n.parse()).collect::<Result<_, _>>()?;
    let [clients, mib, passive, killed] = numbers[..] else {
        return Err("clients, MiB, per cent passive, killed".into());
    };
    let servent = std::env::current_exe()?.with_file_name("../servent");
    let place = tempfile::tempdir()?;
    let size = mib << 20;
    let mut rng = Rng::new(7);
    let bytes: Vec<u8> = (0..size / 8).flat_map(|_| rng.next_u64().to_le_bytes()).collect();
    std::fs::write(place.path().join("film"), &bytes)?;
    let wanted = digest(&bytes);

    let (tell, told) = channel();
    let source = format!("{SOURCE}");
    let serve = ["swarm", "serve", "film", "--listen", "127.0.0.1:0", "--upload-rate", &source];
    let server = start(&servent, place.path(), &serve, usize::MAX, &tell)?;
    let at = next(&told, "listening")?.1["at"].as_str().unwrap_or_default().to_owned();
    next(&told, "file")?;

    let clock = Clock::new();
    let begun = clock.now();
    let (url, up) = (format!("pdtp://{at}/film"), format!("{UP}"));
    let mut running: Vec<Option<Program>> = Vec::new();
    for n in 0..clients {
        let name = format!("film-{n}");
        let mut get =
            vec!["swarm", "get", &url, "-o", &name, "--upload-rate", &up, "--seed-for", "1h"];
        if n * 100 < passive * clients {
            get.push("--passive");
        } else {
            get.extend(["--listen", "127.0.0.1:0"]);
        }
        running.push(Some(start(&servent, place.path(), &get, n, &tell)?));
    }
    let (mut left, mut doomed, mut seconds) = (clients - killed, killed, 0.0);
    let mut verified = 0;
    while left > 0 {
        let (name, line) = told.recv()?;
        let fact: serde_json::Value = serde_json::from_str(&line)?;
        let half = fact["held"].as_u64() >= fact["pieces"].as_u64().map(|p| p.div_ceil(2));
        if doomed > 0 && name < clients && fact["event"] == "progress" && half {
            doomed -= 1;
            running[name] = None;
        } else if fact["event"] == "done" {
            left -= 1;
            seconds = clock.now().since(begun).as_micros() as f64 / 1e6;
            let file: PathBuf = place.path().join(format!("film-{name}"));
            verified += usize::from(digest(&std::fs::read(file)?) == wanted);
        }
    }
    drop(running);
    Command::new("kill").args(["-INT", &server.0.id().to_string()]).status()?;
    let sent = next(&told, "stopped")?.1["sent"].as_u64().unwrap_or_default();
    let (f, n) = (size as f64, clients as f64);
    let bound = (f / SOURCE).max(n * f / n.mul_add(UP, SOURCE));
    println!(
        "{clients} clients ({passive} % passive, {killed} killed), {mib} MiB: {verified} verified in \
         {seconds:.1} s, bound {bound:.1} s, ratio {:.3}, source {:.2} copies",
        seconds / bound,
        sent as f64 / f,
    );
    Ok(())
}

fn digest(bytes: &[u8]) -> Sha1 {
    use sha1::Digest as _;
    Sha1(sha1::Sha1::digest(bytes).into())
}
