//! Why two who met found no direct path, and what would help (PA-15).

use servent_core::meet::NatMapping;

use super::via::router;
use crate::exit::{Exit, Failure};

/// What stands against a path between two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PathObstacle {
    /// No datagram leaves one of the two networks.
    NoDatagrams,
    /// Neither side knows the port that the other's router gives.
    BothVary,
    /// The port of one router was guessed, in vain.
    Guessed,
    /// A router of which it is not known what it does with ports.
    NotKnown,
    /// Such routers let knocks in, so that something else does not.
    Firewall,
}

impl PathObstacle {
    const fn between(ours: NatMapping, theirs: NatMapping) -> Self {
        match (ours, theirs) {
            (NatMapping::Blocked, _) | (_, NatMapping::Blocked) => Self::NoDatagrams,
            (NatMapping::Varies, NatMapping::Varies) => Self::BothVary,
            (NatMapping::Unknown, _) | (_, NatMapping::Unknown) => Self::NotKnown,
            (NatMapping::Varies, NatMapping::Same) | (NatMapping::Same, NatMapping::Varies) => {
                Self::Guessed
            }
            _ => Self::Firewall,
        }
    }

    const fn reason(self) -> &'static str {
        match self {
            Self::NoDatagrams => "a direct path takes UDP on both sides",
            Self::BothVary => "neither side can know the port at which the other is reached",
            Self::Guessed => "none of the ports that were tried was the one of that router",
            Self::NotKnown => "what that router does with ports is not known",
            Self::Firewall => {
                "no knock came through all the same: a firewall stands before one side, or the \
                 other side has left"
            }
        }
    }

    /// What would help besides a place that relays.
    const fn help(self) -> &'static str {
        match self {
            Self::NoDatagrams => "a network that lets UDP out",
            Self::BothVary | Self::Guessed | Self::NotKnown => {
                "--map-port on one side, which asks the router there to let the other in"
            }
            Self::Firewall => "a firewall that lets in what answers our UDP, on both sides",
        }
    }
}

/// Why no knock came through, and what would help.
pub(super) fn no_path(ours: NatMapping, theirs: NatMapping) -> Failure {
    let obstacle = PathObstacle::between(ours, theirs);
    let what = format!(
        "there is no direct path: this side is {}, the other side is {}; {}",
        router(ours),
        router(theirs),
        obstacle.reason()
    );
    Failure::new(Exit::Network, what).next(format!(
        "a meeting place that relays would help (servent meet --relay 2M), or {}",
        obstacle.help()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pa_15_no_path_is_said_with_its_reason_whatever_the_routers_are() {
        use NatMapping::{Blocked, None, Same, Unknown, Varies};
        let firewall = "the other side has left";
        for (ours, theirs, reason) in [
            (Same, Same, firewall),
            (None, Varies, firewall),
            (None, None, firewall),
            (Varies, Varies, "neither side can know the port"),
            (Varies, Same, "none of the ports that were tried"),
            (Same, Varies, "none of the ports that were tried"),
            (Unknown, Same, "is not known"),
            (Blocked, Varies, "takes UDP on both sides"),
        ] {
            let failure = no_path(ours, theirs);
            assert!(failure.what.contains(reason), "{ours:?} {theirs:?}: {failure}");
            assert!(failure.next.is_some(), "{failure}");
        }
    }
}
