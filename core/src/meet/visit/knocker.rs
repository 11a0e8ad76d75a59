//! What a visitor that was introduced says to the other side, signed, and what shows that
//! the other side receives where it seems to be.

use core::net::SocketAddr;

use super::super::Event;
use super::{VisitEffects, VisitOutput};
use crate::wire::meet::{Knock, KnockKey, KnockStep, MeetKey, MeetPacket, MeetSide};

/// One side of an introduction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Knocker {
    pub(super) side: MeetSide,
    pub(super) key: KnockKey,
    /// Known to us alone: with it tokens are made, so that none is remembered.
    pub(super) secret: MeetKey,
}

impl Knocker {
    /// True for a knock of the other side.
    pub(super) fn knows(&self, knock: &Knock) -> bool {
        knock.side != self.side && knock.is_signed(&self.key)
    }

    /// True when the sender of a knock has received at this address what we sent there.
    pub(super) fn has_proved(&self, at: SocketAddr, knock: &Knock) -> bool {
        knock.returned == self.secret.token(at, knock.nonce)
    }

    pub(super) fn ask(&self, nonce: u64) -> Knock {
        Knock::new(self.side, KnockStep::Ask, nonce).signed(&self.key)
    }

    /// An answer to what has come from there.
    pub(super) fn answer(&self, to: SocketAddr, nonce: u64) -> Knock {
        let knock = Knock::new(self.side, KnockStep::Answer, nonce);
        Knock { token: self.secret.token(to, nonce), ..knock }.signed(&self.key)
    }

    /// The choice of an address that has given us this token.
    pub(super) fn choose(&self, to: SocketAddr, (nonce, returned): (u64, u64)) -> Knock {
        let knock = Knock::new(self.side, KnockStep::Choose, nonce);
        Knock { token: self.secret.token(to, nonce), returned, ..knock }.signed(&self.key)
    }

    /// That we agree to a choice.
    pub(super) fn agree(&self, choice: &Knock) -> Knock {
        let knock = Knock::new(self.side, KnockStep::Agree, choice.nonce);
        Knock { returned: choice.token, ..knock }.signed(&self.key)
    }

    /// Sends it.
    pub(super) fn say(&self, to: SocketAddr, knock: Knock, fx: &mut VisitEffects) {
        fx.event(Event::Knocked { peer: to, step: knock.step });
        fx.output(VisitOutput::Packet { to, packet: MeetPacket::Knock(knock) });
    }
}
