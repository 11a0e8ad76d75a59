//! What the tests of a site share: its members, and clients that stand in line.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use socket2::{Domain, Socket, Type};

use crate::postgres::Postgres;
use crate::program::{PATIENCE, Place, Reply, Running, Wire, free_port, lab_get, until};

/// A site whose members share one folder, as if it were mirrored.
pub(crate) struct Site {
    pub(crate) place: Place,
    pub(crate) server: Postgres,
    pub(crate) url: String,
}

/// How a member is started.
pub(crate) struct Member {
    pub(crate) at: SocketAddr,
    pub(crate) lab: SocketAddr,
    pub(crate) state: String,
}

/// One upload at a time, which takes long and is waited for; many questions are
/// no offence.
const BUSY: [&str; 7] = [
    "--set=queue.slots=1",
    "--set=upload_rate=20000",
    "--set=queue.hammer_requests=100000",
    "--set=queue.per_ip=10000",
    "--set=limits.connections_per_ip=10000",
    "--set=queue.slot_reserve=10m",
    "--set=queue.slot_reserve_contested=10m",
];

/// Intervals a twentieth, and files that take a few seconds.
pub(crate) const FAST: [&str; 4] = ["--set", "upload_rate=600000", "--time-scale", "20"];

impl Site {
    /// `None` where there is no PostgreSQL.
    pub(crate) fn new() -> Option<Self> {
        Postgres::start().map(Self::with)
    }

    /// One with this database.
    pub(crate) fn with(server: Postgres) -> Self {
        let place = Place::new();
        place.share("file", 3_000_000);
        let url = server.database();
        std::fs::copy(server.password_file(), place.path("secret")).unwrap();
        Self { place, server, url }
    }

    pub(crate) fn member(&self, name: &str) -> Member {
        let at = |port| SocketAddr::from(([127, 0, 0, 1], port));
        Member { at: at(free_port()), lab: at(free_port()), state: name.to_owned() }
    }

    /// A member that writes its warnings to a file.
    pub(crate) fn logs(&self, member: &Member, wanted: &str) -> (Running, PathBuf) {
        let log = self.place.path(&format!("{}.log", member.state));
        let mut command = self.command(member, &[]);
        command.stdout(Stdio::piped()).stderr(File::create(&log).unwrap());
        let mut running = Running::from_child(command.spawn().unwrap());
        running.event(wanted);
        (running, log)
    }

    pub(crate) fn command(&self, member: &Member, more: &[&str]) -> Command {
        let (at, lab) = (member.at.to_string(), member.lab.to_string());
        let mut arguments = vec!["share", "shared", "--json", "--state", &member.state];
        arguments.extend(["--listen", &at, "--lab", &lab, "--store", &self.url]);
        arguments.extend(["--set", "store_password_file=secret"]);
        arguments.extend(BUSY);
        arguments.extend(more);
        self.place.servent(&arguments)
    }

    /// Starts a member and waits until it leads.
    pub(crate) fn leads(&self, member: &Member) -> Running {
        self.leads_with(member, &[])
    }

    /// Starts a member with further flags, and waits until it leads.
    pub(crate) fn leads_with(&self, member: &Member, more: &[&str]) -> Running {
        let mut running = Running::start(self.command(member, more));
        running.event("listening");
        running.event("hashed");
        running
    }

    /// Starts one with further flags beside one that leads.
    pub(crate) fn stands_by_with(&self, member: &Member, more: &[&str]) -> Running {
        let mut running = Running::start(self.command(member, more));
        running.event("standby");
        running
    }

    /// Starts a member beside one that leads.
    pub(crate) fn stands_by(&self, member: &Member) -> Running {
        self.stands_by_with(member, &[])
    }

    /// What any visitor may see of the site.
    pub(crate) fn status(&self) -> Value {
        serde_json::from_slice(&self.ask_status(&["--json"]).stdout).unwrap()
    }

    /// The same as a table for people.
    pub(crate) fn table(&self) -> String {
        String::from_utf8(self.ask_status(&[]).stdout).unwrap()
    }

    pub(crate) fn ask_status(&self, more: &[&str]) -> Output {
        let arguments = ["site", "status", "--store", &self.url];
        let password = ["--set", "store_password_file=secret"];
        self.place.run(&[&arguments[..], &password, more].concat())
    }

    /// Waits until so many members lead all parts, and know it.
    pub(crate) fn settled(
        &self,
        members: &[Member],
        count: usize,
        knows: impl Fn(&Member) -> bool,
    ) {
        until("all parts are led", || {
            let status = self.status();
            let led =
                status["members"].as_array().unwrap().iter().filter(|one| one["leads"] == true);
            status["led"] == true && led.count() == count
        });
        // One that is dead does not answer.
        let knows =
            |member: &&Member| catch_unwind(AssertUnwindSafe(|| knows(member))).unwrap_or_default();
        until("they know it", || members.iter().filter(knows).count() == count);
    }
}

impl Member {
    /// What a load balancer hears: the status of `/readyz`.
    pub(crate) fn ready(&self) -> u16 {
        lab_get(self.lab, "/readyz").status
    }

    /// Takes the only slot and keeps it, from another address than that of all
    /// others: a client that comes from the owner's address could claim a slot that is
    /// kept.
    pub(crate) fn occupy(&self) -> TcpStream {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.bind(&SocketAddr::from(([127, 0, 0, 2], 0)).into()).unwrap();
        socket.connect(&self.at.into()).unwrap();
        let mut holder = TcpStream::from(socket);
        holder.set_read_timeout(Some(PATIENCE)).unwrap();
        let ask = "GET /get/0/file HTTP/1.1\r\nHost: h\r\nX-Queue: 1.0\r\n\r\n";
        holder.write_all(ask.as_bytes()).unwrap();
        let mut status = [0; 12];
        holder.read_exact(&mut status).unwrap();
        assert_eq!(&status, b"HTTP/1.1 200");
        holder
    }

    /// Asks for the file, with the place told before.
    pub(crate) fn ask(&self, told: Option<&Told>, more: &[&str]) -> (Wire, Reply) {
        Self::ask_on(Wire::connect(self.at), told, more)
    }

    /// The same on a connection that is there.
    pub(crate) fn ask_on(mut wire: Wire, told: Option<&Told>, more: &[&str]) -> (Wire, Reply) {
        let mut text = String::from("GET /get/0/file HTTP/1.1\r\nHost: h\r\nX-Queue: 1.0\r\n");
        if let Some(told) = told {
            text.push_str(&format!("X-Queued: ID={}\r\n", told.id));
        }
        more.iter().for_each(|line| text.push_str(&format!("{line}\r\n")));
        wire.send(&format!("{text}\r\n"));
        let reply = wire.head();
        (wire, reply)
    }

    /// Asks for a place, and keeps the connection: a client that hangs up too
    /// often loses it.
    pub(crate) fn place(&self, told: Option<&Told>, more: &[&str]) -> Told {
        let (wire, reply) = self.ask(told, more);
        Told::from_reply(wire, &reply).unwrap_or_else(|| panic!("no place: {reply:?}"))
    }
}

/// A place as a client was told it.
pub(crate) struct Told {
    pub(crate) id: String,
    pub(crate) position: u64,
    _wire: Wire,
}

impl Told {
    pub(crate) fn from_reply(wire: Wire, reply: &Reply) -> Option<Self> {
        let list = reply.header("x-queued").filter(|_| reply.status == 503)?;
        let id = list.split(';').find_map(|part| part.trim().strip_prefix("ID="))?;
        let position = reply.number("x-queued", "position")?;
        Some(Self { id: id.to_lowercase(), position: position as u64, _wire: wire })
    }

    /// What must stay as it is.
    pub(crate) fn key(&self) -> (&str, u64) {
        (&self.id, self.position)
    }
}
