//! A site: what it costs to keep the line in a database, and how soon another
//! member leads. Beside it stands the embedded store.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

use crate::host::{self, Client, Server};
use crate::measure::{self, median, now, percentile};
use crate::postgres::Postgres;
use crate::report::{Report, Target};

const NAME: &str = "busy.bin";
/// Requests a second, all of newcomers that are promised a place.
const RATE: u32 = 1_000;
/// How many ask at the same time.
const CLIENTS: u32 = 8;

/// Places and takeovers.
pub(crate) fn run(report: &mut Report, quick: bool) -> Result<()> {
    let Some(postgres) = Postgres::start() else {
        report.note("no PostgreSQL here: the site is left out");
        return Ok(());
    };
    let seconds = if quick { 1 } else { 5 };
    report.note("places that are saved before they are told");
    let mut embedded = Site::alone()?.places(seconds)?;
    let mut database = Site::new(&postgres)?.places(seconds)?;
    for (percent, target) in [(50, Target::None), (99, Target::AtMost(5.0))] {
        let case = format!("a place at {RATE} requests/s, p{percent}");
        let beside = ("embedded store", Some(percentile(&mut embedded, percent)));
        report.add(("site", case, "ms"), percentile(&mut database, percent), beside, &target);
    }
    report.note("takeovers");
    let mut took = Site::new(&postgres)?.takeovers(if quick { 2 } else { 10 })?;
    let beside = ("what is promised", Some(10.0));
    let at_most = Target::AtMost(10.0);
    report.add(("site", "takeover after a death, p50", "s"), median(&mut took), beside, &at_most);
    let slow = percentile(&mut took, 95);
    report.add(("site", "takeover after a death, p95", "s"), slow, beside, &at_most);
    Ok(())
}

/// A shared file, and where its servents keep the line.
struct Site {
    dir: TempDir,
    store: Vec<String>,
}

impl Site {
    /// One servent with a file of its own.
    fn alone() -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let share = dir.path().join("share");
        std::fs::create_dir(&share)?;
        // Larger than every buffer on the way, so that the slot stays taken.
        std::fs::File::create(share.join(NAME))?.set_len(64 << 20)?;
        Ok(Self { dir, store: Vec::new() })
    }

    /// Members that share a database.
    fn new(postgres: &Postgres) -> Result<Self> {
        let secret = postgres.password_file();
        let store = vec![
            format!("store={}", postgres.database()),
            format!("store_password_file={}", secret.display()),
        ];
        Ok(Self { store, ..Self::alone()? })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Starts a servent; one that stands by is there when it leads.
    fn start(&self, name: &str) -> Result<Server> {
        start(&self.path("share"), &self.path(name), &self.store)
    }

    /// How long each newcomer waits for its place, in milliseconds.
    fn places(&self, seconds: u32) -> Result<Vec<f64>> {
        let server = self.start("one")?;
        let target = host::target_of(&server, NAME)?;
        let _owner = Client::owner(server.at, &target)?;
        let share = RATE * seconds / CLIENTS;
        let pause = Duration::from_secs(1) * CLIENTS / RATE;
        let ask = |first: u32| -> Result<Vec<f64>> {
            let begun = now() + pause * first / CLIENTS;
            let (mut took, mut kept) = (Vec::new(), Vec::new());
            let request = format!("GET {target} HTTP/1.1\r\nHost: x\r\nX-Queue: 1.0\r\n\r\n");
            for n in 0..share {
                let mut client = Client::connect(server.at)?;
                client.ask(&host::request("HEAD", &target, false))?;
                // By the clock, however long the answers before took.
                measure::wait((begun + pause * n).saturating_duration_since(now()));
                let asked = now();
                let answer = client.ask(&request)?;
                took.push(asked.elapsed().as_secs_f64() * 1e3);
                if answer.header("x-queued").is_none() {
                    bail!("no place: {}", answer.head);
                }
                kept.push(client);
            }
            Ok(took)
        };
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..CLIENTS).map(|n| scope.spawn(move || ask(n))).collect();
            let mut took = Vec::new();
            for one in all {
                took.extend(one.join().ok().context("a client has ended")??);
            }
            Ok(took)
        })
    }

    /// How long it takes until another member listens, in seconds.
    fn takeovers(&self, rounds: u32) -> Result<Vec<f64>> {
        let mut leading = self.start("0")?;
        let mut took = Vec::new();
        for round in 1..=rounds {
            let (share, state) = (self.path("share"), self.path(&round.to_string()));
            let store = self.store.clone();
            let next = std::thread::spawn(move || start(&share, &state, &store));
            measure::wait(Duration::from_secs(2)); // It has seen that a member leads.
            drop(leading);
            let died = now();
            leading = next.join().ok().context("a member has ended")??;
            took.push(died.elapsed().as_secs_f64());
        }
        Ok(took)
    }
}

fn start(share: &Path, state: &Path, store: &[String]) -> Result<Server> {
    let settings = [
        "queue.slots=1",
        "queue.per_ip=1000000",
        "queue.hammer_requests=1000000",
        "limits.connections_per_ip=20000",
    ];
    let store = store.iter().map(String::as_str);
    host::servent(share, state, &settings.into_iter().chain(store).collect::<Vec<_>>())
}
