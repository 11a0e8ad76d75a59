//! The core in the browser and in Node: worlds to be simulated, and the tapes
//! of servents to be run again.
//!
//! A class for each protocol ([`Queue`], [`Routing`], [`Unicast`], [`Swarm`])
//! answers what only its view asks; [`Tape`] is a servent that was recorded.
//! Each of them has a [`Run`], which answers what is asked of all: where the
//! cursor is, what happened, why, and what if.
//!
//! Values cross as objects of JavaScript, what is read in every frame as typed
//! arrays; instants are microseconds. What makes no sense is an `Error` with a
//! sentence; what is not there is `undefined`.

mod lab;
mod panic;
mod passages;
mod queue;
mod routing;
mod swarm;
mod tape;
mod unicast;
mod value;

pub use lab::Run;
pub use passages::chapter;
pub use queue::Queue;
pub use routing::Routing;
pub use swarm::Swarm;
pub use tape::Tape;
pub use unicast::Unicast;
