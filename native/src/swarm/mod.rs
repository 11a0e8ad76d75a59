//! `servent swarm`: a servent that coordinates files and is their source, and
//! one that downloads a file. Both are configurations of the one
//! [`Driver`](crate::driver::Driver).

mod error;
mod get;
mod serve;

use servent_core::node;

pub use self::error::SwarmError;
pub use self::get::{Fetch, GetOptions, SwarmProgress, get};
pub use self::serve::{CoordinatorServer, ServeOptions, ServedFile, Withdrawals, serve};
pub use crate::driver::DriverTally;
pub use crate::files::{CHUNK, Hashed, hash_file};

/// Connections per address. Swarms have many peers and clients, often behind
/// one address, with several connections each.
const PER_ADDRESS: u32 = 1_024;

/// A node with only the swarm services.
fn node_config(swarm: node::swarm::Config) -> node::Config {
    let limits =
        node::NodeLimits { connections_per_ip: PER_ADDRESS, ..node::NodeLimits::default() };
    node::Config { swarm, limits, download: false, ..node::Config::default() }
}
