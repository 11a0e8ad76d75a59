//! A real PostgreSQL for tests: from the system's package, on a free port, in a
//! folder of its own. It ends with the test's process, however that ends.
#![allow(dead_code, reason = "every test file uses a part of it")]

use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use tempfile::TempDir;

/// The password of every user of it.
pub(crate) const PASSWORD: &str = "word of the tests";
/// The longest it may take to start, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often another port is tried because another program has taken the one before.
const PORTS: u32 = 20;
/// What the server's log says when it ends for that reason.
const TAKEN: &str = "could not create any TCP/IP sockets";

/// Starts the server on a port and stops it, by words; ends it when the standard
/// input ends, which is when the test's process does.
const KEEPER: &str = "
    while read -r word port; do
        case $word in
            stop) kill -INT $server; wait $server ;;
            start) \"$@\" -p $port >>\"$LOG\" 2>&1 & server=$! ;;
        esac
    done
    kill -QUIT $server
    wait $server
    umount \"$DIR/data\" 2>>\"$LOG\"
    rm -rf \"$DIR\"
";

/// A running server.
pub(crate) struct Postgres {
    dir: TempDir,
    bin: PathBuf,
    keeper: Child,
    words: Mutex<Option<ChildStdin>>,
    pub(crate) port: u16,
}

/// Where the server's programs are; `None` where it is not installed, which is
/// a failure in continuous integration.
pub(crate) fn installed() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let bins = versions.map(|version| version.path().join("bin"));
    let found = bins.filter(|bin| bin.join("initdb").is_file()).max();
    let ci = std::env::var("CI").is_ok_and(|v| !v.is_empty() && v != "0" && v != "false");
    assert!(found.is_some() || !ci, "PostgreSQL is missing: apt-get install postgresql");
    if found.is_none() {
        println!("left out: PostgreSQL is not installed (`sudo apt-get install postgresql`)");
    }
    found
}

/// A command as a user that is not root, which the server does not start for.
fn unprivileged(program: &Path) -> Command {
    if user_id("-u", None) != "0" {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    let (user, group) = (user_id("-u", Some("postgres")), user_id("-g", Some("postgres")));
    command.args(["--reuid", &user, "--regid", &group, "--clear-groups", "--"]).arg(program);
    command
}

fn user_id(what: &str, of: Option<&str>) -> String {
    let told = Command::new("id").arg(what).args(of).output().unwrap();
    String::from_utf8(told.stdout).unwrap().trim().to_owned()
}

impl Postgres {
    /// Starts one; `None` where it is not installed.
    pub(crate) fn start() -> Option<Self> {
        Self::on(None)
    }

    /// Starts one on a disk of its own that has so many megabytes; `None` where
    /// that cannot be had, for which one has to be root.
    pub(crate) fn start_on_a_disk_of(megabytes: u32) -> Option<Self> {
        if user_id("-u", None) != "0" {
            println!("left out: only root can make a small disk");
            return None;
        }
        Self::on(Some(megabytes))
    }

    fn on(megabytes: Option<u32>) -> Option<Self> {
        let bin = installed()?;
        let dir = tempfile::Builder::new().prefix("servent-postgres").tempdir().unwrap();
        let secret = dir.path().join("secret");
        std::fs::write(&secret, PASSWORD).unwrap();
        if let Some(megabytes) = megabytes {
            let data = dir.path().join("data");
            std::fs::create_dir(&data).unwrap();
            let size = format!("size={megabytes}m,mode=700");
            let mut mount = Command::new("mount");
            mount.args(["-t", "tmpfs", "-o", &size, "servent-test"]).arg(&data);
            if !mount.status().unwrap().success() {
                println!("left out: no small disk can be mounted here");
                return None;
            }
        }
        if user_id("-u", None) == "0" {
            let owned = Command::new("chown").args(["-R", "postgres"]).arg(dir.path()).status();
            assert!(owned.unwrap().success());
        }
        let data = dir.path().join("data");
        let mut init = unprivileged(&bin.join("initdb"));
        init.args([
            "--no-sync",
            "--username",
            "servent",
            "--auth",
            "scram-sha-256",
            "--encoding",
            "UTF8",
        ]);
        init.arg("--pwfile").arg(&secret).arg("--pgdata").arg(&data);
        let made = init.current_dir("/").output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let mut keeper = Command::new("sh");
        keeper.args(["-c", KEEPER, "keeper"]);
        let server = unprivileged(&bin.join("postgres"));
        keeper.arg(server.get_program()).args(server.get_args());
        keeper.arg("-D").arg(&data).arg("-k").arg(dir.path());
        keeper.args(["-c", "listen_addresses=127.0.0.1", "-c", "max_connections=60"]);
        keeper.args(["-c", "lc_messages=C"]);
        keeper
            .env("DIR", dir.path())
            .env("LOG", dir.path().join("log"))
            .current_dir("/")
            .process_group(0);
        let mut keeper = keeper.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let words = Mutex::new(keeper.stdin.take());
        let mut started = Self { dir, bin, keeper, words, port: 0 };
        for _ in 0..PORTS {
            started.port = free_port();
            if started.starts() {
                return Some(started);
            }
        }
        panic!("no port can be had: {}", started.log());
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }

    /// True when this very server answers. It is asked over its socket in a folder
    /// of its own: on a port another server could answer.
    fn is_ready(&self) -> bool {
        let port = self.port.to_string();
        let mut ready = Command::new(self.bin.join("pg_isready"));
        ready.arg("-q").arg("-h").arg(self.dir.path()).args(["-p", &port]);
        ready.status().unwrap().success()
    }

    /// Starts it and waits until it answers; false when another program has its
    /// port.
    fn starts(&self) -> bool {
        let taken = || self.log().matches(TAKEN).count();
        let before = taken();
        self.tell(&format!("start {}", self.port));
        let (_never_used, pause) = channel::<()>();
        for _ in 0..PATIENCE.as_millis() / 50 {
            if self.is_ready() {
                return true;
            }
            if taken() > before {
                return false;
            }
            let _ = pause.recv_timeout(Duration::from_millis(50)); // Nothing is ever sent.
        }
        panic!("it does not start: {}", self.log());
    }

    /// A new and empty database; the words after `postgres://`.
    pub(crate) fn database(&self) -> String {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("site{}", NEXT.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        format!("postgres://servent@127.0.0.1:{}/{name}", self.port)
    }

    /// What statements print, a row a line.
    pub(crate) fn sql(&self, database: &str, text: &str) -> String {
        let database = database.rsplit('/').next().unwrap();
        let mut psql = Command::new(self.bin.join("psql"));
        psql.args(["-qAtX", "-v", "ON_ERROR_STOP=1", "-U", "servent"]);
        psql.arg("-h").arg(self.dir.path());
        psql.args(["-p", &self.port.to_string(), "-d", database, "-c", text]);
        let told = psql.env("PGPASSWORD", PASSWORD).output().unwrap();
        assert!(told.status.success(), "{text}: {}", String::from_utf8_lossy(&told.stderr));
        String::from_utf8(told.stdout).unwrap().trim().to_owned()
    }

    /// A file with the password.
    pub(crate) fn password_file(&self) -> PathBuf {
        self.dir.path().join("secret")
    }

    /// Stops it, as for maintenance; it answers no client when this returns.
    pub(crate) fn stop(&self) {
        self.tell("stop");
        while self.is_ready() {}
    }

    /// Starts it again, on the port that all members know: a program that has taken it
    /// meanwhile is waited for.
    pub(crate) fn start_again(&self) {
        let again = (0..PORTS).any(|_| self.starts());
        assert!(again, "its port cannot be had again: {}", self.log());
    }

    fn tell(&self, word: &str) {
        let mut words = self.words.lock().unwrap();
        writeln!(words.as_mut().unwrap(), "{word}").unwrap();
    }

    /// Fills its disk to the last byte; what is returned makes room again.
    pub(crate) fn fill_disk(&self) -> impl FnOnce() + '_ {
        // A whole new file of its log, so that it need not make one.
        self.sql("postgres", "SELECT pg_switch_wal(); CHECKPOINT; SELECT pg_switch_wal()");
        self.sql("postgres", "CREATE TABLE makes_a_file_of_the_log (n int)");
        let filler = self.dir.path().join("data/filler");
        let mut file = std::fs::File::create(&filler).unwrap();
        while file.write_all(&[1; 1024]).is_ok() {}
        move || std::fs::remove_file(filler).unwrap()
    }

    /// Stops all its processes without their noticing (`STOP`), or lets them go
    /// on (`CONT`).
    pub(crate) fn signal(&self, name: &str) {
        let main = self.main_process();
        let mut all = children(&main);
        all.push(main);
        for one in all {
            let _ = Command::new("kill").args(["-s", name, &one]).status(); // It may have ended.
        }
    }

    /// The number of the process that all others of the server come from.
    fn main_process(&self) -> String {
        let text = std::fs::read_to_string(self.dir.path().join("data/postmaster.pid"));
        text.unwrap_or_default().lines().next().unwrap_or_default().to_owned()
    }
}

fn children(of: &str) -> Vec<String> {
    let listed = std::fs::read_to_string(format!("/proc/{of}/task/{of}/children"));
    listed.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.signal("CONT"); // A stopped one would not end.
        drop(self.words.get_mut().unwrap().take());
        let _ = self.keeper.wait();
    }
}

/// A port no program listens on right now, below those that the system gives to
/// connections: no program is given it before the server has it, or while it is
/// stopped.
fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let first = std::process::id().wrapping_mul(37);
    let next = || first.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
    let ports = std::iter::repeat_with(|| 10_000 + u16::try_from(next() % 2_000).unwrap());
    let free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    ports.take(2_000).find(free).expect("some port is free")
}
