//! A swarm without a network: one coordinator, its source, and as many
//! clients as a scenario says, each the engine the program runs.
//!
//! Bytes move over links with a rate each way; an upload uses the sender's
//! link alone until it is through, as the engine lets one send at a time.
//! What is said to the coordinator takes a client's latency.

mod link;
mod oracle;
pub mod presets;
pub mod random;
mod scenario;
mod world;

pub use self::oracle::{Oracle, Violation};
pub use self::scenario::{Group, Habit, Scenario};
pub use self::world::{Outcome, World};
