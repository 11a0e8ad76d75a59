//! Reliable messages over UDP: the protocol of
//! [`servent_core::unicast`] on a real socket.
//!
//! It runs the [driver](crate::driver) with a node that handles only datagrams,
//! or is part of a servent that does other things too ([`Endpoint::from_handle`]).
//! Connections and the node's task share bounded queues, so a full send window
//! makes [`Connection::send`] wait, and messages that the application does not
//! receive close the peer's window.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use servent::unicast::{Endpoint, EndpointOptions};
//!
//! let endpoint = Endpoint::bind("0.0.0.0:0".parse()?, EndpointOptions::default()).await?;
//! let connection = endpoint.connect("192.0.2.7:6348".parse()?)?;
//! connection.send("hello").await?;
//! let answer = connection.recv().await?;
//! connection.close().await?; // Everything was acknowledged, or the error names what was not.
//! endpoint.shutdown().await?;
//! # let _ = answer;
//! # Ok(())
//! # }
//! ```
//!
//! `native/examples/unicast.rs` is a complete program.

mod door;
mod door_pump;
mod endpoint;
mod error;
mod filtering;
mod options;
mod path_size;
mod silence;
mod spread;
mod visit;
mod whereabouts;

pub use servent_core::unicast::{Config, Congestion, Profile, UnicastPayload};

pub use self::door::DoorLimits;
pub use self::endpoint::{Connection, Endpoint, SendProgress};
pub use self::error::{BindError, ConnectError, SendError};
pub use self::filtering::{NatFiltering, filtering};
pub use self::options::EndpointOptions;
pub use self::path_size::largest_to_place;
pub use self::silence::PeerSilence;
pub use self::visit::{MEET_PORT, MeetNews, MeetingSecret};
pub use self::whereabouts::PeerWhereabouts;
pub use crate::driver::datagrams::{EndpointCounters, LARGEST, Lost, Undelivered, searching};
pub use crate::net::udp::{LossRate, NoLoss, SocketCounters};
