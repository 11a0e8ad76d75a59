//! The driver: hosts one [`Node`](servent_core::node::Node) on real sockets,
//! files and time.
//!
//! One task owns the node and processes its inputs in turns: whatever has
//! arrived since the last turn, with one reading of the clock for all of it; only
//! datagrams, which measure round trips, have one for each system call, after it.
//! Timers that are due by a reading run first, so no flood can delay them.
//! What the node wants remembered in a turn is committed in one transaction
//! before anything else it wants is carried out.

mod change;
pub(crate) mod datagrams;
pub(crate) mod downloads;
mod folders;
mod handle;
mod hashing;
mod locate;
mod met;
mod options;
mod password;
mod people;
mod start;
pub(crate) mod swarm;
mod tally;
mod turn;

pub use self::change::SettingChange;
pub use self::datagrams::{Datagrams, searching};
pub use self::handle::{Handle, Neighbourhood, QueueByLanes, Want};
pub(crate) use self::handle::{HandleRequest, Outside, ServentEnd, Unsaved};
pub use self::locate::{address_of, has_port, host_and_port};
pub use self::met::{ServentMeeting, ServentPlace};
pub use self::options::ServentOptions;
pub use self::password::{Password, PasswordError};
pub use self::start::{Driver, added_shares, export, import, known_hosts};
pub use self::swarm::Coordinate;
pub use self::tally::DriverTally;
pub use crate::files::{FileAttributes, is_being_written, part_path, safe_path, write_whole};
