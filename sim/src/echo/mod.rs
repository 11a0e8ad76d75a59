//! Echo with loss: the worked example of a protocol in the registry.
//!
//! A caller asks numbered questions, one after the other, and asks again when no
//! answer comes in time; the other side echoes every question. Messages get lost.
//! It is as small as a protocol can be that has an engine, a link, faults, an
//! oracle, presets and drawn worlds. CONTRIBUTING.md says what is what.

mod engine;
mod explored;
mod oracles;
mod registered;
mod scenario;
mod world;

pub use self::engine::{EchoEvent, EchoInput, EchoMessage, EchoNode};
pub use self::oracles::Oracles;
pub use self::scenario::{Act, Scenario};
pub use self::world::{Echo, EchoWorld, Event, LinkEvent};
