//! What a sender knows of its path: what is under way, how much may be, and
//! when the next datagram may leave.

use super::marks::PathMarks;
use crate::engine::{Effect, Engine as _, Fx};
use crate::time::{Duration, Instant};
use crate::unicast::congestion::{
    AckSample, Allowance, ControlPhase, Controller, Pacer, RateCap, RateSampler, Signal,
};
use crate::unicast::{Config, Congestion};
use crate::wire::unicast::AckCounts;

/// Datagrams sent before a connection gets a controller: with fewer there is
/// nothing to control, and most connections never send more.
const FEW: u64 = 3;
/// The window of such a connection, in datagrams.
const FIRST: u64 = 10;

/// An acknowledgement, as far as the controller is concerned.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reveals {
    /// The highest number that has arrived, and the highest one sent.
    pub(super) newest: u64,
    pub(super) highest_sent: u64,
    /// Bytes under way before it.
    pub(super) before: u64,
    /// Bytes it reports as missing, and the lowest number of them.
    pub(super) lost: u64,
    pub(super) first_lost: Option<u64>,
    pub(super) rtt: Option<Duration>,
    /// What it acknowledges has just arrived, and was sent once.
    pub(super) fresh: bool,
    pub(super) limited: bool,
    pub(super) counts: AckCounts,
}

/// The controller of a sender, and what it works with.
#[derive(Debug, Clone)]
pub(super) struct SendControl {
    /// `None` while little has been sent.
    controller: Option<Controller>,
    wanted: Congestion,
    allowed: Allowance,
    pacer: Pacer,
    /// The greatest rate, if there is one.
    cap: Option<RateCap>,
    sampler: RateSampler,
    /// The size of a datagram.
    mtu: u64,
    /// Bytes acknowledged ever, and those that have arrived beyond.
    acked: u64,
    early: u64,
    /// Bytes that are lost and not sent again yet.
    waiting: u64,
    /// Bytes that are not acknowledged and were sent on another path.
    elsewhere: u64,
    lost: u64,
    sent: u64,
    /// What the receiver has counted.
    late: u64,
    marks: PathMarks,
    /// What an event said of the controller last.
    shown: Option<(Allowance, ControlPhase)>,
    /// Effects of the controller. Empty between two calls.
    said: Fx<Allowance, ControlPhase>,
}

impl SendControl {
    pub(super) fn new(config: &Config, mtu: u64) -> Self {
        let wanted = if config.to_the_letter() { Congestion::None } else { config.congestion };
        let allowed = match wanted {
            Congestion::None => Allowance::FREE,
            Congestion::Fixed(window) => Allowance::window(window),
            Congestion::Cubic | Congestion::Bbr => Allowance::window(FIRST * mtu),
        };
        Self {
            controller: None,
            wanted,
            allowed,
            pacer: Pacer::new(),
            cap: RateCap::new(config.max_pacing_rate),
            sampler: RateSampler::default(),
            mtu,
            acked: 0,
            early: 0,
            waiting: 0,
            elsewhere: 0,
            lost: 0,
            sent: 0,
            late: 0,
            marks: PathMarks::default(),
            shown: None,
            said: Fx::new(),
        }
    }

    /// Of so many bytes that are not acknowledged, those that are under way on this path.
    pub(super) const fn in_flight(&self, unacked: u64) -> u64 {
        let elsewhere = self.elsewhere + self.waiting;
        unacked.saturating_sub(self.early).saturating_sub(elsewhere)
    }

    /// Bytes that may be sent now, with so many unacknowledged.
    pub(super) const fn room(&self, unacked: u64) -> u64 {
        self.allowed.window.saturating_sub(self.in_flight(unacked))
    }

    pub(super) const fn allowed(&self) -> Allowance {
        self.allowed
    }

    /// The bytes that have arrived beyond those acknowledged.
    pub(super) const fn early(&self) -> u64 {
        self.early
    }

    /// The bytes that have arrived ever.
    pub(super) const fn delivered(&self) -> u64 {
        self.acked + self.early
    }

    /// The size of a datagram.
    pub(super) const fn mtu(&self) -> u64 {
        self.mtu
    }

    pub(super) fn phase(&self) -> ControlPhase {
        match &self.controller {
            Some(controller) => controller.phase(),
            None if self.allowed == Allowance::FREE => ControlPhase::Free,
            None => ControlPhase::Startup,
        }
    }

    /// What the controller allows and its phase, if they differ from what this
    /// returned last by more than a tenth.
    pub(super) fn take_change(&mut self) -> Option<(Allowance, ControlPhase)> {
        let controller = self.controller.as_ref().filter(|_| self.wanted.adapts())?;
        let controlled = (self.allowed, controller.phase());
        let is_same = |(allowed, phase): (Allowance, ControlPhase)| {
            let near = |old: u64, new: u64| old.abs_diff(new) < old / 10;
            let (old, new) = (allowed.rate.unwrap_or(0), self.allowed.rate.unwrap_or(0));
            phase == controlled.1
                && near(allowed.window, self.allowed.window)
                && (old == new || near(old, new))
        };
        if self.shown.is_some_and(is_same) {
            return None;
        }
        self.shown = Some(controlled);
        self.shown
    }

    /// Begins a train if one is due: true when a datagram may leave now.
    pub(super) fn open(&mut self, now: Instant) -> bool {
        !self.is_capped(now) && self.pacer.open(now, self.allowed, self.mtu)
    }

    /// True when the greatest rate is what keeps a datagram from leaving now. That says
    /// nothing about the path.
    pub(super) fn is_capped(&self, now: Instant) -> bool {
        self.cap.as_ref().is_some_and(|cap| !cap.is_open(now))
    }

    /// True when the pace of the path is.
    pub(super) fn is_paced(&self, now: Instant) -> bool {
        !self.pacer.is_open(now, self.allowed)
    }

    /// The window is full, or there is nothing to send: the pace owes nothing for it.
    pub(super) const fn hold(&mut self) {
        self.pacer.hold();
    }

    /// True when a datagram may leave now.
    pub(super) fn is_open(&self, now: Instant) -> bool {
        !self.is_capped(now) && !self.is_paced(now)
    }

    /// When the next one may, if the pace or the greatest rate is what holds it.
    pub(super) fn next(&self) -> Instant {
        let cap = self.cap.as_ref().map_or(Instant::ZERO, RateCap::next);
        self.pacer.next().max(cap)
    }

    /// A datagram with so many bytes leaves; with them, `unacked` are not
    /// acknowledged. `last` is its last number, unless they were all sent
    /// before.
    pub(super) fn sent(
        &mut self,
        now: Instant,
        (bytes, unacked): (u64, u64),
        last: Option<u64>,
        config: &Config,
    ) {
        self.pacer.sent(bytes, self.allowed);
        if let Some(cap) = &mut self.cap {
            cap.sent(now, bytes);
        }
        self.sent += bytes;
        if self.controller.is_none() && self.sent > FEW * self.mtu {
            let controller = Controller::new(self.wanted, config, self.mtu);
            self.allowed = controller.allowance();
            self.controller = Some(controller);
            self.sampler.begin(now);
        }
        if self.measures()
            && let Some(last) = last
        {
            let in_flight = self.in_flight(unacked);
            self.sampler.sent(now, last, (bytes, in_flight, self.lost));
        }
    }

    /// True when the controller needs to know what every acknowledgement reveals.
    const fn measures(&self) -> bool {
        self.controller.is_some() && self.wanted.adapts()
    }

    /// There is nothing more to send, though more might be under way.
    pub(super) fn idle(&mut self, unacked: u64) {
        if self.measures() {
            self.sampler.limit(self.in_flight(unacked));
        }
    }

    /// So many bytes were lost and wait to be sent again, or no longer do.
    pub(super) const fn wait(&mut self, bytes: u64) {
        self.waiting += bytes;
    }

    pub(super) const fn waited(&mut self, bytes: u64) {
        self.waiting = self.waiting.saturating_sub(bytes);
    }

    /// So many more bytes are acknowledged.
    pub(super) fn freed(&mut self, bytes: u64) {
        self.acked += bytes;
        self.early = self.early.saturating_sub(bytes);
        // The lowest numbers are those that were sent first.
        self.elsewhere = self.elsewhere.saturating_sub(bytes);
    }

    /// What has arrived beyond; a peer cannot have more than was sent.
    pub(super) fn arrived(&mut self, early: u64, unacked: u64) {
        self.early = early.min(unacked);
    }

    /// True when less has arrived than the controller was told.
    pub(super) const fn tells_less(&self) -> bool {
        self.delivered() < self.sampler.delivered()
    }

    /// An acknowledgement was false: what was learnt from it is wrong.
    pub(super) fn was_deceived(&mut self, now: Instant) {
        self.sampler.begin_from(now, self.delivered());
        self.tell(now, Signal::Moved);
    }

    /// Tells the controller what an acknowledgement reveals.
    pub(super) fn reveal(&mut self, now: Instant, unacked: u64, it: Reveals) {
        let late = it.counts.late.saturating_sub(self.late);
        self.late += late;
        self.lost += it.lost;
        if !self.measures() {
            return;
        }
        if late > 0 {
            self.tell(now, Signal::Spurious(late));
        }
        let delivered = self.delivered();
        let (newly, rate) = self.sampler.acked(now, (it.newest, delivered, self.lost));
        let heeded = self.marks.mean_something();
        let fresh = if it.fresh { newly } else { 0 };
        let marked = self.marks.count(it.counts.marked, fresh >= self.mtu, delivered);
        if heeded && self.marks.have_misled() {
            self.tell(now, Signal::Moved); // What was learnt from them is wrong.
        }
        let ack = AckSample {
            newly,
            delivered: self.sampler.delivered(),
            lost: it.lost,
            marked: marked.saturating_mul(self.mtu).min(newly),
            before: it.before,
            in_flight: self.in_flight(unacked),
            rtt: it.rtt,
            rate,
            limited: it.limited,
            newest: it.newest,
            highest_sent: it.highest_sent,
            first_lost: it.first_lost,
        };
        self.tell(now, Signal::Acked(ack));
    }

    /// So many datagrams leave with a mark of our own, with so many bytes unacknowledged.
    pub(super) fn test_marks(&mut self, datagrams: u64, unacked: u64) {
        self.marks.test(datagrams, self.acked + unacked, self.mtu);
    }

    /// True when datagrams may say that they may be marked: a controller heeds marks, and
    /// they mean something on this path (PA-7).
    pub(super) const fn heeds_marks(&self) -> bool {
        self.wanted.adapts() && self.marks.mean_something()
    }

    /// Several probes were not answered.
    pub(super) fn stalled(&mut self, now: Instant) {
        self.tell(now, Signal::Stalled);
    }

    /// The size of datagrams has changed.
    pub(super) fn resize(&mut self, now: Instant, mtu: u64) {
        if self.controller.is_none() && self.allowed.window == FIRST * self.mtu {
            self.allowed.window = FIRST * mtu;
        }
        self.mtu = mtu;
        self.tell(now, Signal::Resized(mtu));
    }

    /// The peer is reached on another path: what was learnt of the old one, and what is
    /// under way there with so many bytes unacknowledged, says nothing of it.
    pub(super) fn moved(&mut self, now: Instant, unacked: u64) {
        self.elsewhere += self.in_flight(unacked);
        (self.pacer, self.shown) = (Pacer::new(), None);
        self.sampler.begin_anew(now);
        self.marks.begin_anew();
        self.tell(now, Signal::Moved);
    }

    /// Everything is sent as if for the first time.
    pub(super) fn begin_anew(&mut self) {
        self.sampler.forget();
        (self.early, self.waiting, self.elsewhere) = (0, 0, 0);
    }

    /// Nothing is under way and nothing waits: gives its memory back.
    pub(super) fn rest(&mut self) {
        self.begin_anew();
    }

    fn tell(&mut self, now: Instant, signal: Signal) {
        let Some(controller) = &mut self.controller else { return };
        controller.handle(now, signal, &mut self.said);
        for effect in self.said.drain() {
            if let Effect::Output(allowed) = effect {
                self.allowed = allowed;
            }
        }
    }
}
