//! Two machines, which are network namespaces with a cable between them and
//! nothing else: the reader's at 10.0.0.1, and 10.0.0.7, which is 10.0.0.9 too.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::program::terminal::Terminal;
use crate::program::{Place, Running, finish, noise};

/// Makes the machines and the cable, says their process ids, and lives until
/// its input ends.
const MACHINES: &str = "
ip link set lo up
unshare -n sleep 600 & there=$!
while [ $(readlink /proc/$there/ns/net) = $(readlink /proc/$$/ns/net) ]; do sleep 0.02; done
ip link add here type veth peer name there netns $there
ip addr add 10.0.0.1/24 dev here && ip link set here up
nsenter -t $there -n sh -c '
  ip link set lo up && ip addr add 10.0.0.7/24 dev there && ip link set there up
  ip addr add 10.0.0.9/24 dev there'
mount --bind hosts /etc/hosts
echo $$ $there
read end
kill $there
";
/// One of the two machines.
pub(crate) struct Machine<'a> {
    pub(crate) place: &'a Place,
    pub(crate) pid: u32,
    pub(crate) home: PathBuf,
}

impl Machine<'_> {
    /// A line as a shell takes it.
    pub(crate) fn shell(&self, line: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["-t", &self.pid.to_string(), "-U", "--preserve-credentials", "-n", "-m"]);
        // As this machine sees the folder.
        let line = format!("cd '{}'\n{line}", self.home.join("work").display());
        command.args(["sh", "-c", &line]);
        let path = format!("{}:/usr/bin:/bin", self.place.path("bin").display());
        command.env_clear().env("HOME", &self.home).env("PATH", path);
        command.env("SSL_CERT_FILE", self.place.path("ca.pem")).env("TERM", "xterm");
        command.current_dir(self.place.dir.path()).stdin(Stdio::null());
        command
    }

    /// Executes a line that ends by itself, and succeeds; what it printed.
    #[track_caller]
    pub(crate) fn does(&self, line: &str) -> String {
        self.ends(line, self.begins(&mut self.shell(line)))
    }

    pub(crate) fn begins(&self, shell: &mut Command) -> Child {
        shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    #[track_caller]
    pub(crate) fn ends(&self, line: &str, child: Child) -> String {
        let output = finish(child);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Starts what runs until Ctrl-C; waits for a line of it.
    pub(crate) fn starts(&self, line: &str, until: &str) -> (Running, String) {
        let mut running = Running::start(self.shell(&format!("exec {line}")));
        let told = running.line(|line| line.contains(until));
        (running, told)
    }

    /// A person sits at a terminal and types a line.
    pub(crate) fn sits(&self, line: &str) -> (Terminal, Running) {
        Terminal::start(&self.shell(line))
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.home.join("work").join(name)
    }

    pub(crate) fn has(&self, name: &str, size: usize) -> Vec<u8> {
        let (file, bytes) = (self.file(name), noise(size));
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, &bytes).unwrap();
        bytes
    }
}

/// Ctrl-C.
#[track_caller]
pub(crate) fn stop((running, _): (Running, String)) {
    running.signal("INT");
    assert_eq!(running.end().code(), Some(0));
}

/// Both of them, and what they have in common.
pub(crate) struct World {
    pub(crate) place: Place,
    machines: Child,
    pub(crate) pids: [u32; 2],
}

impl World {
    /// `None` where nothing can lay the cable.
    pub(crate) fn new() -> Option<Self> {
        if !["/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip"].iter().any(|at| Path::new(at).exists()) {
            println!("left out: ip is not installed (`sudo apt-get install iproute2`)");
            return None;
        }
        let place = Place::new();
        std::fs::write(
            place.path("hosts"),
            "127.0.0.1 localhost\n10.0.0.7 example.org place.example.org\n",
        )
        .unwrap();
        std::fs::create_dir(place.path("bin")).unwrap();
        let stand_ins = [
            ("mpv", "cat > played"),
            ("xdg-open", "echo $1 > opened"),
            ("wireshark", "cat > captured"),
        ];
        for (name, script) in stand_ins {
            let file = place.path("bin").join(name);
            std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
            let done = Command::new("chmod").arg("+x").arg(file).status().unwrap();
            assert!(done.success());
        }
        let program = place.servent(&[]).get_program().to_owned();
        std::os::unix::fs::symlink(&program, place.path("bin/servent")).unwrap();
        for home in ["here", "there", "second", "third"] {
            let dist = place.path(home).join("work/dist");
            std::fs::create_dir_all(&dist).unwrap();
            std::os::unix::fs::symlink(&program, dist.join("servent")).unwrap();
        }
        let mut shell = Command::new("unshare");
        shell.args(["-rmn", "sh", "-c", MACHINES]).env_clear();
        shell.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").current_dir(place.dir.path());
        let mut machines = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut out = std::io::BufReader::new(machines.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut out, &mut line).unwrap();
        let pids: Vec<u32> = line.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
        Some(Self { place, machines, pids: pids.try_into().expect("two machines") })
    }

    pub(crate) fn machine(&self, name: &str, pid: u32) -> Machine<'_> {
        Machine { place: &self.place, pid, home: self.place.path(name) }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        drop(self.machines.stdin.take()); // They end with it.
        let _ = self.machines.wait();
    }
}

/// A person sits at a terminal, types a line, and the code when it is asked for.
pub(crate) fn sends(at: &Machine, line: &str, code: &str) -> Running {
    let (mut terminal, running) = at.sits(line);
    terminal.shows("shows: ");
    terminal.types(&format!("{code}\n"));
    std::mem::forget(terminal); // Closing it would end the program.
    running
}

/// The code among the words that are shown: three words, or five for a meeting.
pub(crate) fn code_in(shown: &str) -> String {
    let is_code = |word: &&str| word.split('-').filter(|part| !part.is_empty()).count() >= 3;
    let word = shown.split([' ', ':', '\r', '\n']).find(is_code);
    word.unwrap_or_else(|| panic!("no code in {shown:?}")).to_owned()
}
