//! What a servent is started with.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use servent_core::node;

use super::{Coordinate, Datagrams, Password};
use crate::access::Access;
use crate::net::{Credentials, Identity, Rate};
use crate::store::{DamagedState, Durability};
use crate::tape::TraceFile;

/// Everything a servent needs to start.
#[derive(Debug, Clone)]
pub struct Options {
    /// Its name in traces.
    pub name: String,
    /// Where to listen; port 0 takes any free one. Empty: nowhere.
    pub listen: Vec<SocketAddr>,
    /// The address others reach us at, when it is not the first of `listen`.
    pub announce: Option<SocketAddr>,
    /// The folder of `state.redb`; made when it is not there. `None`: nothing
    /// is remembered.
    pub state_dir: Option<PathBuf>,
    /// Hear and send datagrams too.
    pub datagrams: Option<Datagrams>,
    /// Shared folders, and single shared files.
    pub shares: Vec<PathBuf>,
    /// Where downloads go; made when the first one begins.
    pub download_dir: PathBuf,
    /// Slashes in the names of downloads make folders there. Otherwise they
    /// are replaced, whoever named the file.
    pub tree: bool,
    /// The node. Its limit of connections is lowered to what the system allows.
    pub node: node::Config,
    /// Believe, for `https://`, only whom the certificates of this file vouch
    /// for; `None`: whom those of the system do.
    pub ca_file: Option<PathBuf>,
    /// Said to servers that want to know who we are.
    pub credentials: Option<Credentials>,
    /// Speak TLS with whoever comes, as this; `None`: with nobody.
    pub identity: Option<Identity>,
    /// Serve only who knows it.
    pub password: Option<Password>,
    /// Bytes a second all uploads together may take; `None`: no limit.
    pub upload_rate: Option<u64>,
    /// The same for the uploads of one address together; a /64 network of IPv6
    /// is one.
    pub upload_rate_per_peer: Option<u64>,
    /// What all downloads together may bring, and with them those of whoever
    /// else has a clone of it; `None`: no limit.
    pub download_rate: Option<Rate>,
    /// Coordinate a swarm, if the node is configured for that.
    pub coordinate: Option<Coordinate>,
    /// The node's dice; drawn by the system when `None`.
    pub seed: Option<u64>,
    /// What a promise survives.
    pub durability: Durability,
    /// What to do with a state that cannot be read.
    pub damaged_state: DamagedState,
    /// Write the tape to this file.
    pub trace: Option<TraceFile>,
    /// Keep the tape in memory for the lab, bounded, and broadcast records.
    pub tape: bool,
    /// Give every request away when it is over; those there is no room for
    /// are left out.
    pub access: Option<SyncSender<Access>>,
    /// Look at the shared folders again this often; `None`: only when asked.
    pub rescan: Option<Duration>,
}

impl Options {
    /// A servent that listens on a free port of the IPv4 loopback, shares
    /// nothing, and keeps everything under `dir`.
    #[must_use]
    pub fn under(dir: impl Into<PathBuf>) -> Self {
        let dir = dir.into();
        Self {
            listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))],
            download_dir: dir.join("downloads"),
            state_dir: Some(dir),
            rescan: Some(Duration::from_secs(60)),
            ..Self::without_folders()
        }
    }

    /// A servent that does not listen, shares nothing, and remembers nothing.
    #[must_use]
    pub fn without_folders() -> Self {
        Self {
            name: String::from("servent"),
            listen: Vec::new(),
            announce: None,
            download_dir: PathBuf::new(),
            tree: false,
            ca_file: None,
            credentials: None,
            identity: None,
            password: None,
            state_dir: None,
            datagrams: None,
            shares: Vec::new(),
            node: node::Config::default(),
            upload_rate: None,
            upload_rate_per_peer: None,
            download_rate: None,
            coordinate: None,
            seed: None,
            durability: Durability::Process,
            damaged_state: DamagedState::Refuse,
            trace: None,
            tape: false,
            access: None,
            rescan: None,
        }
    }
}
