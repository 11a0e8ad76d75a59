//! Servers under measurement: ours, a bare loop, nginx. Each ends with its
//! handle.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::measure::{now, pause};

/// How long anything may take before it counts as broken.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A server in a process of its own.
pub(crate) struct Server {
    child: Child,
    /// Where it listens.
    pub(crate) at: SocketAddr,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// Its process number.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Bytes of memory it really occupies.
    pub(crate) fn resident(&self) -> Result<u64> {
        resident(self.pid())
    }
}

/// Seconds it has had a processor, all its threads together.
pub(crate) fn busy(pid: u32) -> Result<f64> {
    processor_time(pid, 11)
}

/// The same for processes that it has started and that have ended.
pub(crate) fn children_busy(pid: u32) -> Result<f64> {
    processor_time(pid, 13)
}

/// The sum of two times in a process's status, of which the first is this one.
fn processor_time(pid: u32, first: usize) -> Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let (_, fields) = stat.rsplit_once(')').context("no process status")?;
    let mut ticks = 0.0;
    for field in fields.split_whitespace().skip(first).take(2) {
        ticks += field.parse::<f64>()?;
    }
    Ok(ticks / rustix::param::clock_ticks_per_second() as f64)
}

/// Bytes of memory a process really occupies.
pub(crate) fn resident(pid: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next()).context("no VmRSS")?;
    Ok(kib.parse::<u64>()? * 1024)
}

/// Our program, without arguments.
pub(crate) fn program() -> Result<Command> {
    let program = std::env::var_os("SERVENT_PROGRAM")
        .context("SERVENT_PROGRAM does not name the program; use `cargo xtask bench`")?;
    Ok(Command::new(program))
}

/// Starts our program sharing `dir`; `settings` are `key=value`.
pub(crate) fn servent(dir: &Path, state: &Path, settings: &[&str]) -> Result<Server> {
    let mut command = program()?;
    command.arg("share").arg(dir).args(["--listen", "127.0.0.1:0", "--lab", "127.0.0.1:0"]);
    command.arg("--state").arg(state).env("XDG_CONFIG_HOME", state);
    for setting in settings {
        command.args(["--set", setting]);
    }
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .context("the program could not be started")?;
    let output = child.stdout.take().context("no output")?;
    let mut server = Server { child, at: SocketAddr::from(([127, 0, 0, 1], 0)) };
    let mut lines = BufReader::new(output).lines();
    loop {
        let Some(line) = lines.next() else { bail!("the program ended before it listened") };
        if let Some(at) = line?.strip_prefix("listening ") {
            server.at = at.trim().parse()?;
            break;
        }
    }
    // The rest of its output is read away, so that it never waits for us.
    std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
    Ok(server)
}

/// Starts nginx on `dir`, or says `None` when it is not installed.
pub(crate) fn nginx(dir: &Path, work: &Path) -> Result<Option<Server>> {
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
    let config = work.join("nginx.conf");
    let (work_text, dir_text) = (work.display(), dir.display());
    fs::write(
        &config,
        format!(
            "daemon off; master_process off; pid {work_text}/nginx.pid; error_log stderr;\n\
             events {{}}\n\
             http {{ access_log off; sendfile on; tcp_nopush on; client_body_temp_path {work_text};\n\
             proxy_temp_path {work_text}; fastcgi_temp_path {work_text}; uwsgi_temp_path {work_text};\n\
             scgi_temp_path {work_text};\n\
             server {{ listen 127.0.0.1:{port}; root {dir_text}; autoindex on; }} }}\n"
        ),
    )?;
    let child = Command::new("nginx")
        .arg("-p")
        .arg(work)
        .arg("-c")
        .arg(&config)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(child) = child else { return Ok(None) };
    let server = Server { child, at: SocketAddr::from(([127, 0, 0, 1], port)) };
    let deadline = now() + PATIENCE;
    while TcpStream::connect(server.at).is_err() {
        if now() > deadline {
            bail!("nginx does not answer");
        }
        pause();
    }
    Ok(Some(server))
}

/// A connection that reads answers.
pub(crate) struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    /// Connects.
    pub(crate) fn connect(to: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(to)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { stream, buffer: vec![0; 256 * 1024] })
    }

    /// Connects and takes the server's only upload slot. The body is left
    /// unread, so the slot stays taken as long as the client is kept.
    pub(crate) fn owner(server: SocketAddr, target: &str) -> Result<Self> {
        let mut owner = Self::connect(server)?;
        let taken = owner.ask(&request("GET", target, true))?;
        if taken.status() != 200 {
            bail!("the only slot was not given: {}", taken.head);
        }
        Ok(owner)
    }

    /// Sends a request and reads the head of the answer; what came of the
    /// body with it is counted.
    pub(crate) fn ask(&mut self, request: &str) -> Result<Answer> {
        self.stream.write_all(request.as_bytes())?;
        let mut filled = 0;
        loop {
            let n = self.stream.read(&mut self.buffer[filled..])?;
            if n == 0 {
                bail!("closed in the middle of a head");
            }
            filled += n;
            let seen = &self.buffer[..filled];
            if let Some(end) = seen.windows(4).position(|w| w == b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&seen[..end]).into_owned();
                return Ok(Answer { head, early: filled - end - 4 });
            }
            if filled == self.buffer.len() {
                bail!("a head without an end");
            }
        }
    }

    /// Reads the body behind an answer and drops it.
    pub(crate) fn drain(&mut self, answer: &Answer) -> Result<usize> {
        let mut left = answer.length()?.saturating_sub(answer.early);
        while left > 0 {
            let room = left.min(self.buffer.len());
            let n = self.stream.read(&mut self.buffer[..room])?;
            if n == 0 {
                bail!("closed {left} bytes before the end");
            }
            left -= n;
        }
        answer.length()
    }
}

/// The head of an answer.
pub(crate) struct Answer {
    /// Without the empty line.
    pub(crate) head: String,
    /// Bytes of the body that came with it.
    early: usize,
}

impl Answer {
    /// The status.
    pub(crate) fn status(&self) -> u16 {
        self.head.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0)
    }

    /// A header, its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    fn length(&self) -> Result<usize> {
        Ok(self.header("content-length").context("no Content-Length")?.parse()?)
    }
}

/// A request of a client that speaks Active Queueing.
pub(crate) fn request(method: &str, target: &str, queue: bool) -> String {
    let queue = if queue { "X-Queue: 0.1\r\n" } else { "" };
    format!("{method} {target} HTTP/1.1\r\nHost: x\r\nUser-Agent: servent-bench\r\n{queue}\r\n")
}

/// Waits until our program knows the file and says under which target.
pub(crate) fn target_of(server: &Server, name: &str) -> Result<String> {
    let deadline = now() + PATIENCE;
    loop {
        let index = Client::connect(server.at)
            .and_then(|mut c| {
                let ask = "GET /?list HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
                c.stream.write_all(ask.as_bytes())?;
                let mut text = String::new();
                c.stream.read_to_string(&mut text)?;
                Ok(text)
            })
            .unwrap_or_default();
        let files = index.lines().filter_map(|line| line.trim().strip_prefix("http://x"));
        let found = files.filter(|file| file.ends_with(name)).map(str::to_owned).next();
        if let Some(target) = found {
            return Ok(target);
        }
        if now() > deadline {
            bail!("{name} does not appear in the list of shared files");
        }
        pause();
    }
}

/// Waits until the file is shared. One that is far down a long list is not in its first
/// part.
pub(crate) fn wait_for(server: &Server, target: &str) -> Result<()> {
    let deadline = now() + PATIENCE;
    let ask = format!("HEAD {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    loop {
        let answer = Client::connect(server.at).and_then(|mut c| {
            c.stream.write_all(ask.as_bytes())?;
            let mut text = String::new();
            c.stream.read_to_string(&mut text)?;
            Ok(text)
        });
        if answer.is_ok_and(|text| text.starts_with("HTTP/1.1 200 ")) {
            return Ok(());
        }
        if now() > deadline {
            bail!("{target} is not shared");
        }
        pause();
    }
}

/// The `n`th client's address: each has one of its own.
pub(crate) fn address(n: u32) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from(0x7f01_0001_u32 + n))
}
