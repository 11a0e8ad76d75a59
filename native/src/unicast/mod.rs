//! Reliable messages over UDP: the protocol of
//! [`servent_core::unicast`] on a real socket.
//!
//! One task owns the protocol and the socket. A turn is: read the clock once,
//! run the timers that are due, take what the socket and the connections
//! have, and let everything go in as few datagrams and system calls as
//! possible. Connections and the task share bounded queues, so a full send
//! window makes [`Connection::send`] wait, and messages nobody takes close
//! the peer's window.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use servent::unicast::{Endpoint, Options};
//!
//! let endpoint = Endpoint::bind("0.0.0.0:0".parse()?, Options::default()).await?;
//! let connection = endpoint.connect("192.0.2.7:6348".parse()?)?;
//! connection.send("hello").await?;
//! let answer = connection.recv().await?;
//! connection.close().await?; // Everything was acknowledged, or the error names what was not.
//! endpoint.shutdown().await;
//! # let _ = answer;
//! # Ok(())
//! # }
//! ```
//!
//! `native/examples/unicast.rs` is a whole program.

mod alarm;
mod counters;
mod endpoint;
mod error;
#[cfg(target_os = "linux")]
mod many;
mod options;
mod pipe;
mod socket;
mod task;

pub use servent_core::unicast::{Config, Congestion, Payload, Profile};

pub use self::counters::{Counters, SocketCounters};
pub use self::endpoint::{Connection, Endpoint, Progress};
pub use self::error::{BindError, ConnectError, Lost, SendError, Undelivered};
pub use self::options::{Loss, NoLoss, Options};
