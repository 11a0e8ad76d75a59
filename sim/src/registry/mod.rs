//! The registry: every protocol is registered here, once.
//!
//! The command line, the lessons, the page, the fuzzer and `xtask` iterate
//! [`ProtocolId::ALL`] or ask for a protocol by its name; none of them has a list
//! of its own. How to add a protocol is in CONTRIBUTING.md.

use core::fmt::{self, Display, Formatter};

use serde::{Deserialize, Serialize};

/// The key that names the protocol in a scenario file.
const TAG: &str = "protocol";

/// Makes the list of protocols, and `for_protocol!`, which calls a generic
/// function for the one with an id.
///
/// The first argument is a dollar sign: a macro that writes a macro needs it.
macro_rules! register {
    ($d:tt, $($id:ident: $module:ident::$protocol:ident,)+) => {
        impl ProtocolId {
            /// Every protocol, examples too.
            pub const ALL: &[Self] = &[$(Self::$id),+];
        }

        /// Calls a function that is generic over the protocol for the one with
        /// an id: `for_protocol!(id, play(scenario, end))`.
        #[macro_export]
        #[doc(hidden)]
        macro_rules! for_protocol {
            ($d id:expr, $d work:ident($d($d argument:expr),* $d(,)?)) => {
                match $d id {
                    $($d crate::registry::ProtocolId::$id => $d work::<$d crate::$module::$protocol>($d($d argument),*),)+
                    #[allow(unreachable_patterns)] // Other crates see a list that may grow.
                    _ => unreachable!("a registered protocol"),
                }
            };
        }
    };
}

register! {
    $,
    Queue: queue::Queue,
    Routing: routing::Routing,
    Unicast: unicast::Unicast,
    Swarm: swarm::Swarm,
    Meet: meet::Meet,
    Echo: echo::Echo,
}

/// A registered protocol. Its name is the same everywhere: in files, on the
/// command line, in the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ProtocolId {
    /// Upload slots, and the clients that wait for one.
    Queue,
    /// The overlay.
    Routing,
    /// Messages over datagrams.
    Unicast,
    /// A file that its clients divide among each other.
    Swarm,
    /// Two who cannot be reached, and a place at which they meet.
    Meet,
    /// The worked example of CONTRIBUTING.md.
    Echo,
}

// Below `for_protocol!`, which they use.
mod limits;
mod played;
mod protocol;
mod tagged;
mod untagged;
mod walk;

pub use self::limits::Limits;
pub use self::played::{PlayedRun, RunEnd, amount};
pub use self::protocol::{
    About, BegunWalk, Drawing, DrawnWorlds, Fact, NodeInfo, Parts, RegisteredProtocol, SmallWorld,
    fields,
};
pub use self::tagged::TaggedScenario;
pub use self::walk::{
    Choice, Ended, ExpandedPart, Explored, InFlight, StoryStep, ToldStory, WorldWalk,
};

impl ProtocolId {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        const fn name<P: RegisteredProtocol>() -> &'static str {
            P::NAME
        }
        for_protocol!(self, name())
    }

    /// The protocol with a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|id| id.name() == name)
    }

    /// True for a protocol that is there to be read: it is run by its name, and
    /// is in no list.
    #[must_use]
    pub fn is_example(self) -> bool {
        const fn example<P: RegisteredProtocol>() -> bool {
            P::EXAMPLE
        }
        for_protocol!(self, example())
    }

    /// The protocols that are listed.
    pub fn listed() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|id| !id.is_example())
    }

    /// The names of its generators of random worlds.
    pub fn drawn(self) -> impl Iterator<Item = &'static str> {
        fn drawn<P: RegisteredProtocol>() -> alloc::vec::Vec<&'static str> {
            P::DRAWN.iter().map(|worlds| worlds.name).collect()
        }
        for_protocol!(self, drawn()).into_iter()
    }
}

impl Display for ProtocolId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_protocol_has_one_name() {
        for id in ProtocolId::ALL {
            assert_eq!(serde_json::to_value(id).unwrap(), id.name());
            assert_eq!(ProtocolId::named(id.name()), Some(*id));
        }
        assert_eq!(ProtocolId::named("torrent"), None);
        let listed: alloc::vec::Vec<_> = ProtocolId::listed().map(ProtocolId::name).collect();
        assert_eq!(listed, ["queue", "routing", "unicast", "swarm", "meet"]);
    }
}
