//! What the program tests share: a servent started as a user starts it, in
//! folders of its own, on free ports, ended when the test ends.
#![allow(dead_code, reason = "every test file uses a part of it")]

pub(crate) mod examples;
pub(crate) mod peer;
pub(crate) mod terminal;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::Value;
use sha2::Digest as _;
use socket2::{Domain, Socket, Type};
use tempfile::TempDir;

/// The longest any single step of a test may take. Nothing that works comes
/// near it, on a busy machine neither.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Leaves a recording for the page's tests, which run it again in Node and in browsers,
/// when `SERVENT_TAPES` names a folder for it.
pub(crate) fn leave_for_page(tape: &Path, name: &str) {
    if let Some(folder) = std::env::var_os("SERVENT_TAPES") {
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::copy(tape, Path::new(&folder).join(name)).unwrap();
    }
}

/// A folder with everything a test needs, removed with it.
pub(crate) struct Place {
    pub(crate) dir: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { dir: TempDir::new().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A shared folder with one file of `size` bytes that compress badly.
    pub(crate) fn share(&self, name: &str, size: usize) -> (PathBuf, Vec<u8>) {
        let folder = self.path("shared");
        std::fs::create_dir_all(&folder).unwrap();
        let bytes = noise(size);
        std::fs::write(folder.join(name), &bytes).unwrap();
        (folder, bytes)
    }

    /// The program, with its state in this place and nothing from outside.
    pub(crate) fn servent(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(arguments);
        command.env_clear().env("HOME", self.dir.path()).env("PATH", "/usr/bin:/bin");
        command.current_dir(self.dir.path());
        command.stdin(Stdio::null());
        command
    }

    /// The program with files of at most 100 KB, as on a full disk; the signal
    /// that comes with it is ignored, as a service manager may do.
    pub(crate) fn cramped(&self, arguments: &[&str]) -> Command {
        let program = self.servent(&[]).get_program().to_owned();
        let mut shell = Command::new("sh");
        shell.args(["-c", "trap '' XFSZ; ulimit -f 200; exec \"$0\" \"$@\""]);
        shell.arg(program).args(arguments);
        shell.env_clear().env("HOME", self.dir.path()).env("PATH", "/usr/bin:/bin");
        shell.current_dir(self.dir.path()).stdin(Stdio::null());
        shell
    }

    /// The same where a name has these addresses; `None` where that cannot be had,
    /// for which one has to be root.
    pub(crate) fn knowing(&self, name: &str, at: &[IpAddr], arguments: &[&str]) -> Option<Command> {
        let lines: String = at.iter().map(|at| format!("{at} {name}\n")).collect();
        std::fs::write(self.path("hosts"), lines).unwrap();
        let program = self.servent(&[]).get_program().to_owned();
        let mut shell = Command::new("unshare");
        let mount = "mount --bind hosts /etc/hosts && exec \"$0\" \"$@\"";
        shell.args(["--mount", "sh", "-c", mount]).current_dir(self.dir.path());
        let can = Command::new("unshare").args(["--mount", "true"]).stderr(Stdio::null()).status();
        if !can.is_ok_and(|status| status.success()) {
            println!("left out: only root can give a name several addresses");
            return None;
        }
        shell.arg(program).args(arguments).stdin(Stdio::null());
        shell.env_clear().env("HOME", self.dir.path()).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        Some(shell)
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        finish(
            self.servent(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap(),
        )
    }

    /// Starts `servent share` of the shared folder and waits until it listens.
    pub(crate) fn sharing(&self, extra: &[&str]) -> Running {
        let mut arguments = vec!["share", "shared", "--state", "state", "--json"];
        if !extra.contains(&"--listen") {
            arguments.extend(["--listen", "127.0.0.1:0"]);
        }
        if !extra.contains(&"--lab") {
            arguments.extend(["--lab", "127.0.0.1:0"]);
        }
        arguments.extend(extra);
        let mut running = Running::start(self.servent(&arguments));
        running.at = running.event("listening")["at"].as_str().unwrap().parse().unwrap();
        if !extra.contains(&"off") {
            let url = running.event("lab")["url"].as_str().unwrap().to_owned();
            let (at, rest) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
            running.lab = at.parse().ok();
            running.lab_key = rest.strip_prefix("?key=").map(str::to_owned);
        }
        running.event("hashed");
        // What it says while it hashes comes before or after that.
        running.ahead = std::mem::take(&mut running.seen).into();
        running
    }
}

/// The program that is tested: the one that was built here, or the one that
/// `SERVENT_PROGRAM` names (`cargo xtask windows --test` starts Windows' under wine).
pub(crate) fn program() -> OsString {
    std::env::var_os("SERVENT_PROGRAM").unwrap_or_else(|| env!("CARGO_BIN_EXE_servent").into())
}

/// A receiver into the folder `in`, which it makes, and where it listens.
pub(crate) fn receiving(place: &Place, extra: &[&str]) -> (Running, String) {
    let mut arguments =
        vec!["receive", "--listen", "127.0.0.1:0", "-o", "in/", "--json", "--open", "--yes"];
    arguments.extend(extra);
    let mut running = Running::start(place.servent(&arguments));
    let at = running.event("listening")["address"].as_str().unwrap().to_owned();
    (running, at)
}

/// The pin of a certificate, as the program prints it.
pub(crate) fn pin_of(certificate: &Path) -> String {
    let text = std::fs::read_to_string(certificate).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with("--"));
    let der = data_encoding::BASE64.decode(lines.collect::<String>().as_bytes()).unwrap();
    let pairs: Vec<String> = sha2::Sha256::digest(der).iter().map(|b| format!("{b:02X}")).collect();
    format!("sha256:{}", pairs.join(":"))
}

/// Bytes that look random and are always the same.
pub(crate) fn noise(size: usize) -> Vec<u8> {
    let mut x = 0x9e37_79b9_7f4a_7c15_u64 ^ size as u64;
    let mut bytes = Vec::with_capacity(size + 8);
    while bytes.len() < size {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        bytes.extend_from_slice(&x.to_le_bytes());
    }
    bytes.truncate(size);
    bytes
}

/// A program that runs; killed when dropped.
pub(crate) struct Running {
    child: Child,
    lines: Receiver<String>,
    /// Lines that came while it started, which are still to be looked at.
    ahead: VecDeque<String>,
    seen: Vec<String>,
    pub(crate) at: SocketAddr,
    pub(crate) lab: Option<SocketAddr>,
    /// What a lab that others reach wants to see.
    pub(crate) lab_key: Option<String>,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        Self::from_child(command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap())
    }

    /// One that was started already, its standard output a pipe.
    pub(crate) fn from_child(mut child: Child) -> Self {
        let out = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        let at = SocketAddr::from(([0; 4], 0));
        let (ahead, seen) = (VecDeque::new(), Vec::new());
        Self { child, lines, ahead, seen, at, lab: None, lab_key: None }
    }

    /// The next line of standard output for which `wanted` holds.
    pub(crate) fn line(&mut self, wanted: impl Fn(&str) -> bool) -> String {
        loop {
            let early = self.ahead.pop_front().map(Ok);
            match early.unwrap_or_else(|| self.lines.recv_timeout(PATIENCE)) {
                Ok(line) if wanted(&line) => return line,
                Ok(line) => self.seen.push(line),
                Err(e) => panic!("{e} after {:#?}", self.seen),
            }
        }
    }

    /// The next JSON line whose `event` is `name`.
    pub(crate) fn event(&mut self, name: &str) -> Value {
        let line =
            self.line(|line| serde_json::from_str::<Value>(line).is_ok_and(|v| v["event"] == name));
        serde_json::from_str(&line).unwrap()
    }

    /// The next JSON line whose `event` is one of these.
    pub(crate) fn event_of(&mut self, names: &[&str]) -> Value {
        let named = |value: Value| value["event"].as_str().is_some_and(|it| names.contains(&it));
        let line = self.line(|line| serde_json::from_str::<Value>(line).is_ok_and(named));
        serde_json::from_str(&line).unwrap()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by name, such as `INT`.
    pub(crate) fn signal(&self, name: &str) {
        let done = Command::new("kill").args(["-s", name, &self.pid().to_string()]).status();
        assert!(done.unwrap().success());
    }

    /// `kill -9`, and its end.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for its end, and may be asked again.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        ended(&mut self.child)
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> ExitStatus {
        ended(&mut self.child)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits for a child, never longer than [`PATIENCE`].
pub(crate) fn ended(child: &mut Child) -> ExitStatus {
    let (_never_used, pause) = channel::<()>();
    for _ in 0..PATIENCE.as_millis() / 20 {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        // Nothing is ever sent: a pause without a thread that sleeps.
        let _ = pause.recv_timeout(Duration::from_millis(20));
    }
    let _ = child.kill();
    panic!("the program did not end in {PATIENCE:?}");
}

/// Everything a child said, and how it ended.
pub(crate) fn finish(mut child: Child) -> Output {
    let mut out = child.stdout.take().unwrap();
    let mut err = child.stderr.take().unwrap();
    let reading = std::thread::spawn(move || {
        let mut text = Vec::new();
        out.read_to_end(&mut text).unwrap();
        text
    });
    let complaining = std::thread::spawn(move || {
        let mut text = Vec::new();
        err.read_to_end(&mut text).unwrap();
        text
    });
    let status = ended(&mut child);
    Output { status, stdout: reading.join().unwrap(), stderr: complaining.join().unwrap() }
}

/// Asserts the exit code, and that the complaint is one sentence (and what to
/// do next) that contains `part`.
#[track_caller]
pub(crate) fn complains(output: &Output, code: i32, part: &str) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{text}");
    assert!(text.contains(part), "no {part:?} in {text}");
    let said: Vec<&str> = text.lines().filter(|l| l.starts_with("servent: ")).collect();
    assert_eq!(said.len(), 1, "one sentence: {text}");
    assert!(!text.contains("panicked"), "{text}");
}

/// A connection that speaks HTTP by hand.
pub(crate) struct Wire {
    stream: BufReader<TcpStream>,
}

/// A response as it came in.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Wire {
    pub(crate) fn connect(at: SocketAddr) -> Self {
        let stream = TcpStream::connect_timeout(&at, PATIENCE).unwrap();
        Self::on(stream)
    }

    /// A connection that is there.
    pub(crate) fn on(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { stream: BufReader::new(stream) }
    }

    /// From another address of this machine, as another person.
    pub(crate) fn connect_from(from: IpAddr, at: SocketAddr) -> Self {
        let socket = Socket::new(Domain::for_address(at), Type::STREAM, None).unwrap();
        socket.bind(&SocketAddr::from((from, 0)).into()).unwrap();
        socket.connect_timeout(&at.into(), PATIENCE).unwrap();
        Self::on(TcpStream::from(socket))
    }

    pub(crate) fn send(&mut self, text: &str) {
        self.stream.get_mut().write_all(text.as_bytes()).unwrap();
    }

    /// `GET target` with more header lines, and its answer.
    pub(crate) fn get(&mut self, target: &str, headers: &[&str]) -> Reply {
        let mut text = format!("GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n");
        for header in headers {
            text.push_str(header);
            text.push_str("\r\n");
        }
        self.send(&format!("{text}\r\n"));
        self.reply()
    }

    /// Reads a line, and the empty one behind it if there is one.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        let mut rest = String::new();
        if self.stream.buffer().starts_with(b"\r\n") {
            self.stream.read_line(&mut rest).unwrap();
        }
        line
    }

    /// Reads a head only.
    pub(crate) fn head(&mut self) -> Reply {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            let n = self.stream.read_line(&mut line).unwrap();
            assert!(n > 0, "closed inside a head: {lines:?}");
            let line = line.trim_end().to_owned();
            if line.is_empty() {
                break;
            }
            lines.push(line);
        }
        let status = lines[0].split(' ').nth(1).unwrap().parse().unwrap();
        let pair =
            |l: &String| l.split_once(':').map(|(k, v)| (k.to_lowercase(), v.trim().to_owned()));
        Reply { status, headers: lines[1..].iter().filter_map(pair).collect(), body: Vec::new() }
    }

    /// Reads a whole answer.
    pub(crate) fn reply(&mut self) -> Reply {
        let mut reply = self.head();
        let length = reply.header("content-length").map(|v| v.parse::<u64>().unwrap());
        let mut body = Vec::new();
        match length {
            Some(n) => (&mut self.stream).take(n).read_to_end(&mut body).unwrap(),
            None => self.stream.read_to_end(&mut body).unwrap(),
        };
        reply.body = body;
        reply
    }

    /// Reads so many bytes of a body.
    pub(crate) fn take(&mut self, bytes: u64) -> Vec<u8> {
        let mut body = Vec::new();
        (&mut self.stream).take(bytes).read_to_end(&mut body).unwrap();
        body
    }

    /// True when the other side has closed.
    pub(crate) fn closed(&mut self) -> bool {
        matches!(self.stream.read(&mut [0]), Ok(0) | Err(_))
    }
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(k, _)| k == name).map(|(_, v)| v.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// A number from a `key=number` list header, such as `position` in `X-Queue`.
    pub(crate) fn number(&self, header: &str, key: &str) -> Option<f64> {
        let list = self.header(header)?;
        list.split([',', ';']).find_map(|pair| {
            let (k, v) = pair.split_once('=')?;
            k.trim().eq_ignore_ascii_case(key).then(|| v.trim().parse().ok())?
        })
    }
}

/// `GET` of a lab.
pub(crate) fn lab_get(at: SocketAddr, target: &str) -> Reply {
    Wire::connect(at).get(target, &["Connection: close"])
}

/// A port no program listens on right now, and that the system does not give to
/// another program's connection either: it is below those it hands out.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let first = std::process::id().wrapping_mul(37);
    loop {
        let n = first.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = 12_000 + u16::try_from(n % 20_000).unwrap();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// Waits until `holds`, never longer than [`PATIENCE`].
#[track_caller]
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let (_never_used, pause) = channel::<()>();
    for _ in 0..PATIENCE.as_millis() / 50 {
        if holds() {
            return;
        }
        // Nothing is ever sent: a pause without a thread that sleeps.
        let _ = pause.recv_timeout(Duration::from_millis(50));
    }
    panic!("not in {PATIENCE:?}: {what}");
}

/// Lets time go by.
pub(crate) fn pause(time: Duration) {
    let (_never_used, pause) = channel::<()>();
    let _ = pause.recv_timeout(time); // Nothing is ever sent.
}

/// The content of a file, compared without printing megabytes.
#[track_caller]
pub(crate) fn assert_same(path: &Path, bytes: &[u8]) {
    let found = std::fs::read(path).unwrap();
    assert_eq!(found.len(), bytes.len(), "{}", path.display());
    assert!(found == bytes, "{} has other bytes", path.display());
}
