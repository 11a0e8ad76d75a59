//! The core in the browser and in Node: simulated worlds, recordings of servents to be
//! replayed, and a servent in the page ([`Peer`]).
//!
//! [`World`] is a simulated world of any registered protocol; a class for each
//! ([`Queue`], [`Routing`], [`Unicast`], [`Swarm`], [`Meet`]) has the queries that only its
//! view needs. [`Tape`] is a recorded servent. Each of them has a [`Run`] with the queries common to all: where the cursor
//! is, what happened, why, and what if.
//!
//! Values are passed as JavaScript objects, per-frame data as typed arrays;
//! instants are in microseconds. Invalid arguments throw an `Error` with a
//! sentence; what does not exist is `undefined`.

mod group;
mod lab;
mod lesson;
mod meet;
mod panic;
mod passages;
mod peer;
mod queue;
mod routing;
mod swarm;
mod tape;
mod unicast;
mod value;

pub use lab::{Run, World};
pub use lesson::Lesson;
pub use meet::Meet;
pub use passages::chapter;
pub use peer::Peer;
pub use queue::Queue;
pub use routing::Routing;
pub use swarm::Swarm;
pub use tape::{Ladder, Matrix, Overlay, Tape, Tapes};
pub use unicast::Unicast;
