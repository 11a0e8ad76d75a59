//! The stream of one neighbour: the progress of its handshake, then framing and
//! decompression.

use core::net::SocketAddr;

use super::Config;
use crate::address::canonical;
use crate::routing::{Breakage, Neighbour};
use crate::time::{Duration, Instant};
use crate::wire::gnutella::{
    Deflater, FrameLimits, Framer, HandshakeOffer, InflateLimits, Inflater, MessageFrame,
    OverlayMessage, OverlayPayload,
};

/// A neighbour, or a host that may become one.
#[derive(Debug, Clone)]
pub(super) struct OverlayWire {
    at: SocketAddr,
    /// We have its listening address; a port it only connects from is of no use
    /// to others.
    reached: bool,
    /// That address is confirmed: its connection comes from it, or we dialed
    /// it.
    sure: bool,
    /// It does not forward queries.
    pub(super) leaf: bool,
    pub(super) stage: HandshakeStage,
    /// Bytes for it that have not left the host yet.
    pub(super) behind: u64,
    /// The meeting place that it runs.
    pub(super) place: Option<SocketAddr>,
}

/// The progress of the handshake.
#[derive(Debug, Clone)]
pub(super) enum HandshakeStage {
    /// We dialed, and wait for the answer.
    Calling,
    /// We dialed, and it refused us.
    Refused,
    /// It connected, we accepted, and wait for its last head.
    Answering { offer: alloc::boxed::Box<HandshakeOffer>, deflates: bool },
    /// Messages are exchanged.
    Open(alloc::boxed::Box<Flowing>),
}

/// The state of an open stream of messages.
#[derive(Debug, Clone)]
pub(super) struct Flowing {
    framer: Framer,
    inflater: Option<Inflater>,
    /// Inflated bytes since that instant, and how many are allowed per second.
    inflated: (Instant, u64, u32),
    deflater: Option<Deflater>,
}

impl OverlayWire {
    pub(super) const fn calling(at: SocketAddr) -> Self {
        let (reached, sure, leaf) = (true, true, false);
        let (stage, behind, place) = (HandshakeStage::Calling, 0, None);
        Self { at: canonical(at), reached, sure, leaf, stage, behind, place }
    }

    /// It connected, speaks version 0.4, and did not say where it listens.
    pub(super) fn old(at: SocketAddr) -> Self {
        Self { reached: false, sure: false, ..Self::calling(at) }
    }

    pub(super) fn answering(
        peer: SocketAddr,
        offer: alloc::boxed::Box<HandshakeOffer>,
        deflates: bool,
    ) -> Self {
        let at = canonical(offer.listen.unwrap_or(peer));
        let reached = offer.listen.is_some();
        let sure = reached && at.ip() == peer.ip().to_canonical();
        let leaf = offer.ultrapeer == Some(false);
        Self {
            at,
            reached,
            sure,
            leaf,
            stage: HandshakeStage::Answering { offer, deflates },
            behind: 0,
            place: None,
        }
    }

    /// True when this is the servent that listens at `at`.
    pub(super) fn is(&self, at: SocketAddr) -> bool {
        self.at == canonical(at)
    }

    /// A host says that we are connected to it and that it listens at `at`: if
    /// this connection came from the same IP address and did not say where it
    /// listens, it is the one (RT-20).
    pub(super) fn may_listen(&mut self, at: SocketAddr) -> bool {
        let fits = !self.reached && self.at.ip() == at.ip().to_canonical();
        if fits {
            (self.at, self.reached) = (canonical(at), true);
        }
        fits
    }

    /// Where others could connect to this servent: where we dialed it, or where
    /// it says it listens.
    pub(super) const fn listens(&self) -> Option<SocketAddr> {
        if self.reached { Some(self.at) } else { None }
    }

    /// The same, but only if confirmed: a stranger must not keep others out by
    /// claiming their address.
    pub(super) fn is_surely(&self, at: SocketAddr) -> bool {
        self.sure && self.is(at)
    }

    /// True when heads have been received from both ends.
    pub(super) const fn is_met(&self) -> bool {
        matches!(self.stage, HandshakeStage::Answering { .. } | HandshakeStage::Open(_))
    }

    /// The address we dialed, while it has not accepted us yet.
    pub(super) const fn called(&self) -> Option<SocketAddr> {
        match self.stage {
            HandshakeStage::Calling => Some(self.at),
            _ => None,
        }
    }

    /// The handshake is complete. `inflates`: what we receive is compressed;
    /// `deflates`: what we send is.
    pub(super) fn open(&mut self, config: &Config, inflates: bool, deflates: bool) {
        let inflate = InflateLimits { bytes: config.inflate_bytes, ratio: config.inflate_ratio };
        self.stage = HandshakeStage::Open(alloc::boxed::Box::new(Flowing {
            framer: Framer::new(FrameLimits { payload: config.payload }),
            inflater: inflates.then(|| Inflater::new(inflate)),
            inflated: (Instant::ZERO, 0, config.inflate_rate),
            deflater: deflates.then(Deflater::new),
        }));
    }

    /// Adds received bytes.
    pub(super) fn push(&mut self, now: Instant, data: alloc::vec::Vec<u8>) -> Result<(), Breakage> {
        let HandshakeStage::Open(flowing) = &mut self.stage else { return Ok(()) };
        let plain = match &mut flowing.inflater {
            Some(inflater) => inflater.push(&data).map_err(|_| Breakage::Deflate)?,
            None => data,
        };
        if flowing.inflater.is_some() {
            // Uncompressed input is bounded by the sender's own bandwidth.
            let (since, bytes, most) = &mut flowing.inflated;
            if now.since(*since) >= Duration::from_secs(1) {
                (*since, *bytes) = (now, 0);
            }
            *bytes += plain.len() as u64;
            if *bytes > u64::from(*most) {
                return Err(Breakage::Deflate);
            }
        }
        flowing.framer.push(OverlayPayload::from(plain));
        Ok(())
    }

    /// The next frame, not parsed yet.
    pub(super) fn next(&mut self) -> Result<Option<MessageFrame>, Breakage> {
        match &mut self.stage {
            HandshakeStage::Open(flowing) => flowing.framer.next_frame().map_err(Breakage::Frame),
            _ => Ok(None),
        }
    }

    /// The bytes of a message on this stream; `None` before the handshake is
    /// complete.
    pub(super) fn write(&mut self, message: &OverlayMessage) -> Option<alloc::vec::Vec<u8>> {
        let HandshakeStage::Open(flowing) = &mut self.stage else { return None };
        let plain = message.to_bytes();
        Some(match &mut flowing.deflater {
            Some(deflater) => deflater.push(&plain),
            None => plain,
        })
    }
}

/// What the router has to know about a servent that made this `offer`, given
/// ours.
pub(super) fn neighbour(offer: &HandshakeOffer, ours: &HandshakeOffer) -> Neighbour {
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
