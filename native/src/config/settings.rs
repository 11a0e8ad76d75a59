//! The settings of the program, with their defaults.

use std::net::SocketAddr;
use std::path::PathBuf;

use directories::ProjectDirs;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use servent::driver::ServentOptions;
use servent::{Database, DatabaseUrlError, Durability, TraceFile};
use servent_core::time::Duration;
use servent_core::{node, queue, routing, swarm, unicast};

/// Every setting of the program. The fields of [`node::Config`] stand beside
/// its own, so that a file says `agent = …` and `[queue]`, `[limits]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct Settings {
    /// Addresses to listen on.
    pub(crate) listen: Vec<SocketAddr>,
    /// The address at which others reach this servent, when it is none of `listen`:
    /// that of a router which forwards a port to it, or one of several.
    pub(crate) announce: Option<SocketAddr>,
    /// Say in the local network that we are here, and hear of others there.
    pub(crate) lan: bool,
    /// Folders to share.
    pub(crate) share: Vec<PathBuf>,
    /// The folder of everything that survives a restart.
    pub(crate) state: PathBuf,
    /// The PostgreSQL database that the servents of a site share, such as
    /// `postgres://servent@db/servent`; nothing for a state of this machine
    /// alone, in its folder. Its password does not belong here.
    pub(crate) store: Option<String>,
    /// A file whose first line is the password of that database; otherwise it is
    /// read from SERVENT_STORE_PASSWORD.
    pub(crate) store_password_file: Option<PathBuf>,
    /// Trust that database only with a certificate of this file (PEM), not with
    /// one the system trusts.
    pub(crate) store_ca: Option<PathBuf>,
    /// Divide the files of that site, or the swarms of its coordinators, among its
    /// servents: all of them serve, each its part, and send clients to each other. Otherwise one of them leads, and
    /// the others stand by.
    pub(crate) divide: bool,
    /// What a promise survives: the end of the `process`, or of the `power`.
    pub(crate) durability: Durability,
    /// Where downloads go that name no file of their own. Those of `share` go
    /// to the downloads of its user when nothing is set here.
    pub(crate) downloads: PathBuf,
    /// A folder for files that visitors upload in their browsers, or with `curl
    /// -T`; `[inbox]` limits them. Nothing is taken without.
    pub(crate) accept: Option<PathBuf>,
    /// Bytes of the disk of that folder that uploads leave free, for our state and
    /// for others; an upload that needs them is refused (507).
    pub(crate) disk_reserve: u64,
    /// Where the lab listens, `off` for nowhere.
    #[schemars(with = "String")]
    pub(crate) lab: LabAddress,
    /// The lab may listen where others reach it. Every visitor then sees its page
    /// and its counters; a visitor with the link and its key reads everything, the
    /// seed that the queue's tickets follow from included.
    pub(crate) lab_public: bool,
    /// Readers of the lab's live recording at once; further ones are refused.
    pub(crate) lab_readers: u32,
    /// Origins whose pages may connect to us by WebSocket, besides the lab's own
    /// page: `https://room.example.org`, or `null` for a page from a file.
    pub(crate) allow_origin: Vec<String>,
    /// Bytes a second all uploads together may take; 0 for no limit.
    pub(crate) upload_rate: u64,
    /// Bytes a second the uploads of one address together may take, a /64
    /// network of IPv6 being one; 0 for no limit.
    pub(crate) upload_rate_per_peer: u64,
    /// Record every input and decision in this file.
    pub(crate) trace: Option<PathBuf>,
    /// Bytes the trace may have; 0 for no limit. When it is full the servent
    /// goes on, and a gap at the end of the trace says so.
    pub(crate) trace_limit: u64,
    /// Write every request to this file, a line each, in the combined format of
    /// web servers.
    pub(crate) access_log: Option<PathBuf>,
    /// The certificate by which others know us, as PEM; with it everything that
    /// comes and goes is encrypted, and we take no part in the overlay.
    pub(crate) tls_cert: Option<PathBuf>,
    /// The key of the certificate that `tls_cert` names, as PEM.
    pub(crate) tls_key: Option<PathBuf>,
    /// Share by https with a certificate of our own, which is made when there is
    /// none in the state folder; others compare its fingerprint. For those who have
    /// no certificate that `tls_cert` could name.
    pub(crate) tls_self_made: bool,
    /// Serve only who knows this name and the password of `password_file`; we
    /// then take no part in the overlay.
    pub(crate) user: Option<String>,
    /// A file with that password, or with its Argon2 hash.
    pub(crate) password_file: Option<PathBuf>,
    /// Serve the page from this folder instead of the one in the program.
    pub(crate) www: Option<PathBuf>,
    /// The meeting place of `send --meet`, `receive --meet` and `doctor`, such as
    /// `place.example.org`.
    pub(crate) via: Option<String>,
    /// The meeting place at which others find what is shared here, whatever router is
    /// between: `servent get meet://…`, as `share` prints it. `neighbour` is that of a
    /// neighbour in the overlay.
    pub(crate) meet: Option<String>,
    /// Be a meeting place too, at this UDP address and the next port, for those who cannot
    /// reach each other; usually port 6349 of every address.
    pub(crate) meeting_place: Option<SocketAddr>,
    /// Bytes a second that this place passes on for those that find no direct path; 0 for none.
    pub(crate) relay: u64,
    /// Ask the router to forward a port to us (UPnP, NAT-PMP or PCP), and give it back
    /// at the end: TCP for what is shared, UDP for `--via` and `--meet`.
    pub(crate) map_port: bool,
    /// How long the router shall forward that port, each time that it is asked.
    pub(crate) map_port_for: Duration,
    /// Limits and intervals of `send` and `receive`.
    pub(crate) unicast: unicast::Config,
    /// Limits and intervals of the coordinator of a swarm.
    pub(crate) swarm: swarm::Config,
    /// The protocols' own limits and intervals.
    #[serde(flatten, with = "protocols")]
    #[schemars(skip)] // Its schema is that of `node::Config`, of which some cannot be set.
    pub(crate) node: node::Config,
}

impl Settings {
    /// The database of the site, if there is one; the error says what is wrong
    /// with its address.
    pub(crate) fn database(&self) -> Result<Option<Database>, DatabaseUrlError> {
        let Some(url) = &self.store else { return Ok(None) };
        let database = Database::parse(url)?;
        let database = database.with_password_file(self.store_password_file.clone());
        Ok(Some(database.with_roots(self.store_ca.clone())))
    }

    /// The trace file, if one is configured.
    pub(crate) fn trace_file(&self) -> Option<TraceFile> {
        let path = self.trace.clone()?;
        Some(TraceFile { limit: self.trace_limit, ..path.into() })
    }
}

/// The part of a node's configuration that can be set. Which services it has is
/// up to the command.
mod protocols {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use servent_core::queue::Dialect;
    use servent_core::{fetch, node, queue};

    #[derive(Serialize, Deserialize)]
    struct Protocols {
        agent: String,
        hosts: Vec<String>,
        queue: queue::Config,
        fetch: fetch::Config,
        limits: node::NodeLimits,
        inbox: node::InboxLimits,
        dialect: Dialect,
        share_parts: bool,
        callable: bool,
        overlay: node::OverlayConfig,
    }

    pub(super) fn serialize<S: Serializer>(node: &node::Config, s: S) -> Result<S::Ok, S::Error> {
        let node = node.clone();
        let protocols = Protocols {
            agent: node.agent,
            hosts: node.hosts,
            queue: node.queue,
            fetch: node.fetch,
            limits: node.limits,
            inbox: node.inbox,
            dialect: node.dialect,
            share_parts: node.share_parts,
            callable: node.callable,
            overlay: node.overlay,
        };
        protocols.serialize(s)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<node::Config, D::Error> {
        let Protocols {
            agent,
            hosts,
            queue,
            fetch,
            limits,
            inbox,
            dialect,
            share_parts,
            callable,
            overlay,
        } = Protocols::deserialize(d)?;
        Ok(node::Config {
            agent,
            hosts,
            queue,
            fetch,
            limits,
            inbox,
            dialect,
            share_parts,
            callable,
            overlay,
            ..node::Config::default()
        })
    }
}

/// The address of the lab's web server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LabAddress {
    Off,
    At(SocketAddr),
}

/// The lab's default port; unless it was chosen explicitly, the next free one
/// will do.
pub(crate) const LAB: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 6380);

/// This is no place for the lab.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is neither an address such as {LAB} nor `off`")]
pub(crate) struct LabError(String);

impl std::str::FromStr for LabAddress {
    type Err = LabError;
    fn from_str(text: &str) -> Result<Self, LabError> {
        match text {
            "off" => Ok(Self::Off),
            _ => text.parse().map(Self::At).map_err(|_| LabError(text.to_owned())),
        }
    }
}

impl std::fmt::Display for LabAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::At(address) => write!(f, "{address}"),
        }
    }
}

impl Serialize for LabAddress {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for LabAddress {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

impl Default for Settings {
    fn default() -> Self {
        let dirs = ProjectDirs::from("", "", "servent");
        let state = dirs.as_ref().map_or_else(
            || PathBuf::from(".servent"),
            |d| d.state_dir().unwrap_or_else(|| d.data_local_dir()).to_path_buf(),
        );
        Self {
            listen: vec![
                SocketAddr::from(([0, 0, 0, 0], 6346)),
                SocketAddr::from(([0u16; 8], 6346)),
            ],
            announce: None,
            lan: false,
            share: Vec::new(),
            state,
            store: None,
            store_password_file: None,
            store_ca: None,
            divide: false,
            durability: Durability::default(),
            downloads: PathBuf::from("."),
            accept: None,
            disk_reserve: ServentOptions::DISK_RESERVE,
            lab: LabAddress::At(LAB),
            lab_public: false,
            lab_readers: 16,
            allow_origin: Vec::new(),
            upload_rate: 0,
            upload_rate_per_peer: 0,
            trace: None,
            trace_limit: TraceFile::LIMIT,
            access_log: None,
            tls_cert: None,
            tls_key: None,
            tls_self_made: false,
            user: None,
            password_file: None,
            www: None,
            via: None,
            meet: None,
            meeting_place: None,
            relay: 0,
            map_port: false,
            map_port_for: Duration::from_secs(3_600),
            unicast: servent::unicast::searching(unicast::Config::default()),
            swarm: swarm::Config::default(),
            node: node::Config {
                queue: queue::Config { policy: queue::QueuePolicy::Adaptive, ..Default::default() },
                overlay: ultrapeer(),
                ..node::Config::default()
            },
        }
    }
}

/// The usual configuration of an ultrapeer: many neighbours, searches that reach
/// farther step by step, and no floods.
fn ultrapeer() -> node::OverlayConfig {
    let router = routing::Config {
        dynamic: true,
        links: 128,
        queries_at_once: 1_024,
        tables_at_once: 8,
        dial_back: true,
        ..routing::Config::default()
    };
    let (degree, neighbours) = (32, 48);
    node::OverlayConfig {
        enabled: true,
        degree,
        neighbours,
        router,
        ..node::OverlayConfig::default()
    }
}

/// The default path of the configuration file.
pub(crate) fn default_file() -> Option<PathBuf> {
    Some(ProjectDirs::from("", "", "servent")?.config_dir().join("config.toml"))
}
