//! Options for starting a servent.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use servent_core::node;
use tokio::sync::watch;

use super::{Coordinate, Datagrams, Password};
use crate::access::Access;
use crate::net::{Credentials, Identity, Origins, Proxies, Rate, RelayLimits};
use crate::pins::CertificatePin;
use crate::store::{DamagedState, Database, Durability, Role};
use crate::tape::TraceFile;

/// Everything a servent needs to start.
#[derive(Debug, Clone)]
pub struct ServentOptions {
    /// Its name in traces.
    pub name: String,
    /// Addresses to listen on; port 0 takes any free one. Empty: none.
    pub listen: Vec<SocketAddr>,
    /// The address at which others reach us, when it is not the first of
    /// `listen`.
    pub announce: Option<SocketAddr>,
    /// The folder of `state.redb`; created if missing. `None`: nothing is
    /// remembered.
    pub state_dir: Option<PathBuf>,
    /// Remember everything in this database instead, which the servents of a
    /// site share; what is of this machine alone stays in `state_dir`.
    pub store: Option<Database>,
    /// Divide the files of that site among its servents, instead of having one
    /// lead: the database then has the lines alone, the rest is in `state_dir`.
    /// The others send clients to the address at which they reach this servent.
    pub divide: bool,
    /// Is told what this servent does in its site. While it stands by, it says goodbye
    /// and ends when it has no listener any more.
    pub role: Option<watch::Sender<Role>>,
    /// Send and receive datagrams too.
    pub datagrams: Option<Datagrams>,
    /// Shared folders, and single shared files.
    pub shares: Vec<PathBuf>,
    /// The folder for downloads; created when the first one begins.
    pub download_dir: PathBuf,
    /// The folder for files that visitors upload; created if missing. `None`: no
    /// uploads.
    pub accept: Option<PathBuf>,
    /// Downloads that the state remembers wait until they are asked for again.
    pub only_asked: bool,
    /// Slashes in the names of downloads create folders there. Otherwise they
    /// are replaced.
    pub tree: bool,
    /// The node's configuration. Its connection limit is lowered to what the
    /// system allows.
    pub node: node::Config,
    /// For `https://`, trust only the certificates in this file; `None`: those
    /// of the system.
    pub ca_file: Option<PathBuf>,
    /// The same, but only servers that show one of these certificates.
    pub pins: Vec<CertificatePin>,
    /// Credentials sent to servers that require a name and a password.
    pub credentials: Option<Credentials>,
    /// The proxies through which sources on the web are asked.
    pub proxies: Proxies,
    /// Accept TLS connections with this identity; `None`: plain connections
    /// only.
    pub identity: Option<Identity>,
    /// Whose pages may connect by WebSocket; `None`: there are no WebSockets.
    /// With an identity there are none either.
    pub origins: Option<Origins>,
    /// How much these pages may send each other through us.
    pub relay: RelayLimits,
    /// Serve only clients that know this password.
    pub password: Option<Password>,
    /// Bytes per second for all uploads together; `None`: no limit.
    pub upload_rate: Option<u64>,
    /// The same for all uploads to one address together; a /64 network of IPv6
    /// counts as one address.
    pub upload_rate_per_peer: Option<u64>,
    /// Limit on all downloads together, shared with every other holder of a
    /// clone of it; `None`: no limit.
    pub download_rate: Option<Rate>,
    /// Coordinate a swarm, if the node is configured for that.
    pub coordinate: Option<Coordinate>,
    /// Seed of the node's random numbers; drawn from the system when `None`.
    pub seed: Option<u64>,
    /// What kind of crash a promise survives.
    pub durability: Durability,
    /// What to do with a state that cannot be read.
    pub damaged_state: DamagedState,
    /// Write the recording to this file.
    pub trace: Option<TraceFile>,
    /// Keep the recording in memory for the lab, bounded, and broadcast records.
    pub tape: bool,
    /// Bytes of the disk of `accept` that uploads leave free.
    pub disk_reserve: u64,
    /// Send each finished request here; requests are dropped when the channel
    /// is full.
    pub access: Option<SyncSender<Access>>,
    /// Scan the shared folders again this often; `None`: only when asked.
    pub rescan: Option<Duration>,
}

impl ServentOptions {
    /// What uploads leave free of a disk unless told otherwise: enough for a state
    /// to be saved for a long time.
    pub const DISK_RESERVE: u64 = 64 << 20;

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
            accept: None,
            only_asked: false,
            tree: false,
            ca_file: None,
            pins: Vec::new(),
            credentials: None,
            proxies: Proxies::default(),
            identity: None,
            origins: None,
            relay: RelayLimits::default(),
            password: None,
            state_dir: None,
            store: None,
            divide: false,
            role: None,
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
            disk_reserve: Self::DISK_RESERVE,
            access: None,
            rescan: None,
        }
    }
}
