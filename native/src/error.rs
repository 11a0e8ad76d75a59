//! What can keep a servent from starting or make it stop, as sentences that say
//! what to do next.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a servent did not start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// Another program listens there.
    #[error("port {} on {} is in use: choose another with --listen, or stop what listens there", at.port(), at.ip())]
    PortInUse {
        /// Where we wanted to listen.
        at: SocketAddr,
    },
    /// The system does not let us listen there.
    #[error("cannot listen on {at}: {why}")]
    Listen {
        /// Where we wanted to listen.
        at: SocketAddr,
        /// The system error.
        why: io::Error,
    },
    /// Another program uses the UDP port.
    #[error("UDP port {} on {} is in use: choose another with --listen, or stop what listens there", at.port(), at.ip())]
    UdpPortInUse {
        /// Where we wanted to listen.
        at: SocketAddr,
    },
    /// The system does not let us use the UDP address.
    #[error("cannot use UDP address {at}: {why}")]
    Udp {
        /// Where we wanted to listen.
        at: SocketAddr,
        /// The system error.
        why: io::Error,
    },
    /// The file of certificates to check servers by cannot be used.
    #[error("{0}")]
    Certificates(String),
    /// A shared folder cannot be read.
    #[error("cannot share {}: {why}", path.display())]
    Share {
        /// The folder.
        path: PathBuf,
        /// The system error.
        why: io::Error,
    },
    /// A folder of ours cannot be created or written.
    #[error("cannot use the folder {}: {why}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The system error.
        why: io::Error,
    },
    /// The store cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreFailure),
    /// The other servents of a divided site would not know where to send clients.
    #[error(
        "clients of the other servents of a divided site cannot be sent to every address: name the one that reaches this servent with --listen ADDRESS:PORT, or as `announce`"
    )]
    Nowhere,
    /// The system has no random bytes, so no secret could be drawn.
    #[error("the system gives no random numbers: {0}")]
    Dice(#[source] io::Error),
    /// The trace file cannot be created.
    #[error("cannot write the trace {}: {why}", path.display())]
    Trace {
        /// The file.
        path: PathBuf,
        /// The system error.
        why: io::Error,
    },
}

impl StartError {
    pub(crate) fn folder(path: &Path, why: io::Error) -> Self {
        Self::Folder { path: path.to_owned(), why }
    }
}

/// Why something could not be shared or unshared.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ShareError {
    /// It cannot be opened.
    #[error(transparent)]
    Open(StartError),
    /// It is not shared.
    #[error("{} is not shared", path.display())]
    NotShared {
        /// The path that was named.
        path: PathBuf,
        /// What is shared.
        shared: Vec<PathBuf>,
    },
    /// The servent has ended.
    #[error("the servent has ended")]
    Gone,
}

/// What is wrong with the store of the state.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreFailure {
    /// Another servent uses this state.
    #[error("the state in {} is in use by another servent{}: stop it, or run a second one with a folder of its own (--state) and an address of its own (--listen)", path.display(), by(*pid))]
    Locked {
        /// The state folder.
        path: PathBuf,
        /// Its process id, if known.
        pid: Option<u32>,
    },
    /// The file is not a state of ours, or it is damaged.
    #[error("{} is damaged or no servent's state ({why}); it has not been touched: put a good copy in its place, or start with --put-damaged-aside to rename it and begin with an empty queue", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The file was written by a newer program.
    #[error("{} has version {found} of the state, this program knows version {known}: use the newer program", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version of the file.
        found: u32,
        /// The latest version this program knows.
        known: u32,
    },
    /// A copy of the state would overwrite a file.
    #[error("{} is there already, and nothing was overwritten: name another file, or take it away first", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// An I/O error.
    #[error("cannot read or write the state {}: {why}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system error.
        why: io::Error,
    },
    /// There is no state to copy.
    #[error("there is no state in {}: no servent has kept anything there", path.display())]
    Missing {
        /// The state folder.
        path: PathBuf,
    },
    /// The database of the site cannot be used.
    #[error("the database {at} cannot be used: {why}")]
    Away {
        /// The database.
        at: String,
        /// What it says.
        why: String,
    },
    /// The database of the site has no room left.
    #[error("the database {at} cannot be used: its disk is full")]
    Full {
        /// The database.
        at: String,
    },
    /// The database of the site does not let us in.
    #[error(
        "the database {at} does not let us in ({why}): put its password in the file that store_password_file names, or in SERVENT_STORE_PASSWORD"
    )]
    Unauthorized {
        /// The database.
        at: String,
        /// What it says.
        why: String,
    },
    /// No site is in the database.
    #[error("no site is in {at} yet: the first `servent share DIR --store {at}` makes one")]
    NoSite {
        /// The database.
        at: String,
    },
    /// The schema `servent` of the database is not ours.
    #[error(
        "the schema `servent` in {at} is no servent's ({why}); it has not been touched: name another database"
    )]
    Alien {
        /// The database.
        at: String,
        /// What is wrong.
        why: String,
    },
    /// The tables of the site were made by a newer program.
    #[error(
        "{at} has version {found} of the state, this program knows version {known}; it has not been touched: use the newer program"
    )]
    NewerSite {
        /// The database.
        at: String,
        /// The version found there.
        found: u32,
        /// The latest version this program knows.
        known: u32,
    },
    /// Another servent of the site leads now.
    #[error("another servent leads the site in {at} now: start this one again, and it stands by")]
    Replaced {
        /// The database.
        at: String,
    },
    /// Other servents of a divided site have taken our part of it.
    #[error(
        "other servents of the site in {at} have taken the files of this one over: start it again, and it gets its part of them back"
    )]
    TakenOver {
        /// The database.
        at: String,
    },
    /// The servents of the site go about it in another way.
    #[error("{}", mode(at, *divided))]
    OtherMode {
        /// The database.
        at: String,
        /// They divide the files; otherwise one of them leads.
        divided: bool,
    },
    /// The site in the database is there for something else.
    #[error("{}", purpose(at, *swarms))]
    OtherPurpose {
        /// The database.
        at: String,
        /// It is of coordinators of swarms; otherwise its servents serve files.
        swarms: bool,
    },
    /// No task waits any more for this servent to lead.
    #[error("the servent is not to lead the site any more")]
    Unwanted,
    /// A database cannot be copied as a file.
    #[error("the state is in {at}: copy it as a database (pg_dump --schema servent)")]
    NoFile {
        /// The database.
        at: String,
    },
    /// The database refused a write.
    #[error("cannot write the state {}: {why}; nothing that was promised is lost, mend this and start again", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the database.
        why: String,
    },
}

fn mode(at: &str, divided: bool) -> String {
    if divided {
        format!(
            "the servents of the site in {at} divide it among them: start this one with --divide, too, or stop all of them first"
        )
    } else {
        format!(
            "one servent leads the site in {at} and the others stand by: start this one without --divide, or stop all of them first"
        )
    }
}

fn purpose(at: &str, swarms: bool) -> String {
    let (theirs, ours) = if swarms { ("swarms", "files") } else { ("files", "swarms") };
    format!("the site in {at} serves {theirs}: name another database for {ours}")
}

fn by(pid: Option<u32>) -> String {
    pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
}

/// Why a running servent stopped.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// State can no longer be saved, so nothing can be promised.
    #[error(transparent)]
    Store(#[from] StoreFailure),
    /// It stopped normally, but its trace is incomplete.
    #[error("the trace is not whole: {0}")]
    Trace(io::Error),
    /// The node's task is gone: a bug, or it was aborted.
    #[error("the servent ended unexpectedly")]
    Gone,
}
