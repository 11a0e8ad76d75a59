//! The stream of one neighbour: how far its handshake is, and what cuts and
//! unpacks it afterwards.

use core::net::SocketAddr;

use super::Config;
use crate::address::canonical;
use crate::routing::{Breakage, Neighbour};
use crate::time::{Duration, Instant};
use crate::wire::gnutella::{
    Deflater, Frame, FrameLimits, Framer, InflateLimits, Inflater, Message, Offer, Payload,
};

/// A neighbour, or who may become one.
#[derive(Debug, Clone)]
pub(super) struct Wire {
    at: SocketAddr,
    /// It listens there; a port it only calls from is of no use to others.
    reached: bool,
    /// And it is there: its connection comes from that address, or we called.
    sure: bool,
    /// It does not pass queries on.
    pub(super) leaf: bool,
    pub(super) stage: Stage,
    /// What the host still has for it.
    pub(super) behind: u64,
}

/// How far the handshake is.
#[derive(Debug, Clone)]
pub(super) enum Stage {
    /// We connect, and wait for the answer.
    Calling,
    /// We called, and it does not want us.
    Refused,
    /// It connected, we let it in, and wait for its last word.
    Answering { offer: alloc::boxed::Box<Offer>, deflates: bool },
    /// Messages flow.
    Open(alloc::boxed::Box<Flowing>),
}

/// What messages flow through.
#[derive(Debug, Clone)]
pub(super) struct Flowing {
    framer: Framer,
    inflater: Option<Inflater>,
    /// Bytes that came out of it since then, and how many may in a second.
    inflated: (Instant, u64, u32),
    deflater: Option<Deflater>,
}

impl Wire {
    pub(super) const fn calling(at: SocketAddr) -> Self {
        let (reached, sure, leaf) = (true, true, false);
        Self { at: canonical(at), reached, sure, leaf, stage: Stage::Calling, behind: 0 }
    }

    /// It called, speaks version 0.4, and did not say where it listens.
    pub(super) fn old(at: SocketAddr) -> Self {
        Self { reached: false, sure: false, ..Self::calling(at) }
    }

    pub(super) fn answering(
        peer: SocketAddr,
        offer: alloc::boxed::Box<Offer>,
        deflates: bool,
    ) -> Self {
        let at = canonical(offer.listen.unwrap_or(peer));
        let reached = offer.listen.is_some();
        let sure = reached && at.ip() == peer.ip().to_canonical();
        let leaf = offer.ultrapeer == Some(false);
        Self { at, reached, sure, leaf, stage: Stage::Answering { offer, deflates }, behind: 0 }
    }

    /// True when this is the servent that listens there.
    pub(super) fn is(&self, at: SocketAddr) -> bool {
        self.at == canonical(at)
    }

    /// It says that we are connected, and listens there: if this called us
    /// from the same address without a word about that, it is the one (RT-20).
    pub(super) fn may_listen(&mut self, at: SocketAddr) -> bool {
        let fits = !self.reached && self.at.ip() == at.ip().to_canonical();
        if fits {
            (self.at, self.reached) = (canonical(at), true);
        }
        fits
    }

    /// Where somebody could become a neighbour of this servent: where we
    /// called it, or where it said it listens.
    pub(super) const fn listens(&self) -> Option<SocketAddr> {
        if self.reached { Some(self.at) } else { None }
    }

    /// The same, and not only because it says so: a stranger must not keep
    /// others out.
    pub(super) fn is_surely(&self, at: SocketAddr) -> bool {
        self.sure && self.is(at)
    }

    /// True when heads have come from both ends.
    pub(super) const fn is_met(&self) -> bool {
        matches!(self.stage, Stage::Answering { .. } | Stage::Open(_))
    }

    /// Whom we called and had no answer from that let us in.
    pub(super) const fn called(&self) -> Option<SocketAddr> {
        match self.stage {
            Stage::Calling => Some(self.at),
            _ => None,
        }
    }

    /// The handshake is done. `inflates`: what comes is deflated; `deflates`:
    /// what we send is.
    pub(super) fn open(&mut self, config: &Config, inflates: bool, deflates: bool) {
        let inflate = InflateLimits { bytes: config.inflate_bytes, ratio: config.inflate_ratio };
        self.stage = Stage::Open(alloc::boxed::Box::new(Flowing {
            framer: Framer::new(FrameLimits { payload: config.payload }),
            inflater: inflates.then(|| Inflater::new(inflate)),
            inflated: (Instant::ZERO, 0, config.inflate_rate),
            deflater: deflates.then(Deflater::new),
        }));
    }

    /// Takes what came in.
    pub(super) fn push(&mut self, now: Instant, data: alloc::vec::Vec<u8>) -> Result<(), Breakage> {
        let Stage::Open(flowing) = &mut self.stage else { return Ok(()) };
        let plain = match &mut flowing.inflater {
            Some(inflater) => inflater.push(&data).map_err(|_| Breakage::Deflate)?,
            None => data,
        };
        if flowing.inflater.is_some() {
            // What is sent plainly the sender's own line bounds.
            let (since, bytes, most) = &mut flowing.inflated;
            if now.since(*since) >= Duration::from_secs(1) {
                (*since, *bytes) = (now, 0);
            }
            *bytes += plain.len() as u64;
            if *bytes > u64::from(*most) {
                return Err(Breakage::Deflate);
            }
        }
        flowing.framer.push(Payload::from(plain));
        Ok(())
    }

    /// The next message, not yet understood.
    pub(super) fn next(&mut self) -> Result<Option<Frame>, Breakage> {
        match &mut self.stage {
            Stage::Open(flowing) => flowing.framer.next_frame().map_err(Breakage::Frame),
            _ => Ok(None),
        }
    }

    /// The bytes of a message on this stream; `None` before the handshake is
    /// done.
    pub(super) fn write(&mut self, message: &Message) -> Option<alloc::vec::Vec<u8>> {
        let Stage::Open(flowing) = &mut self.stage else { return None };
        let plain = message.to_bytes();
        Some(match &mut flowing.deflater {
            Some(deflater) => deflater.push(&plain),
            None => plain,
        })
    }
}

/// What the router has to know of a servent that said this, to us who said
/// `ours`.
pub(super) fn neighbour(offer: &Offer, ours: &Offer) -> Neighbour {
    let relays = offer.ultrapeer != Some(false);
    Neighbour {
        agent: offer.agent.chars().filter(|c| !c.is_control()).take(64).collect(),
        relays,
        ggep: offer.ggep,
        bye: offer.bye,
        vendor: offer.vendor,
        keywords: relays
            && match ours.ultrapeer {
                Some(false) => ours.query_routing && offer.query_routing,
                _ => ours.last_hop && offer.last_hop,
            },
        probes: offer.probes,
        degree: offer.degree,
        max_ttl: offer.max_ttl,
        listen: offer.listen,
    }
}
