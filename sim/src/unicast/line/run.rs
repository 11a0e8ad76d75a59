//! Runs a line from its beginning to its horizon.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};

use bytes::Bytes;
use servent_core::engine::Engine as _;
use servent_core::node::{Input, MessageInput};
use servent_core::rng::Rng;
use servent_core::time::{Duration, Instant};
use servent_core::unicast::{SenderView, UnicastPayload};

use super::flow::{Flow, Leaving};
use super::host::HostStalls;
use super::policer::PolicerState;
use super::report::{FlowReport, LineReport};
use super::{Blackout, LineWorld};
use crate::calendar::Calendar;
use crate::links::datagram::{DatagramLoss, Direction};

/// The world's time begins here, so that no instant is zero.
const EPOCH: Instant = Instant::from_secs(1);
/// The steps in which rates are noted.
const TENTH: u64 = 100_000;

/// The address of a node.
pub(super) fn address(number: u32) -> SocketAddr {
    let [_, high, mid, low] = (number + 1).to_be_bytes();
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, high, mid, low)), 7000)
}

/// Nodes with an even number send, and the next one is their receiver.
pub(super) const fn is_sender(number: u32) -> bool {
    number.is_multiple_of(2)
}

#[derive(Debug, Clone)]
enum Due {
    /// A flow begins.
    Begin(u32),
    /// A datagram for a node arrives, with or without a mark.
    Arrive(u32, UnicastPayload, bool),
    /// A node's timers.
    Wake(u32),
    /// A reader stops, or goes on.
    Read(u32, bool),
    /// A tenth of a second is over.
    Tick,
}

/// A line while it is run.
pub(super) struct Line<'a> {
    plan: &'a LineWorld,
    now: Instant,
    calendar: Calendar<Due>,
    there: Direction,
    flows: Vec<Flow>,
    policer: Option<PolicerState>,
    /// Of each node.
    stalls: Vec<HostStalls>,
    reports: Vec<FlowReport>,
    /// Bytes delivered when the measurement began.
    warm: Vec<u64>,
    /// How many datagrams waited how many microseconds, in steps of 100.
    waits: BTreeMap<u64, u64>,
    lost: (u64, u64),
    message: Bytes,
    out: Vec<Leaving>,
}

impl<'a> Line<'a> {
    pub(super) fn new(plan: &'a LineWorld) -> Self {
        let count = plan.flows.len() as u32;
        let report = FlowReport {
            goodput: 0,
            tenths: Vec::new(),
            arrived: Vec::new(),
            sent: 0,
            capable: 0,
            delivered: 0,
            messages: (0, 0),
            ended: None,
        };
        let stalls = |node: u32| {
            let dice = Rng::new(plan.seed).fork("host", u64::from(node));
            HostStalls::new(&plan.delays, &dice, EPOCH)
        };
        let mut line = Self {
            plan,
            now: EPOCH,
            calendar: Calendar::default(),
            there: Direction::new(Rng::new(plan.seed).fork("there", 0)),
            flows: (0..count).map(|index| Flow::new(plan, index)).collect(),
            policer: plan.policer.map(|policer| PolicerState::new(policer, EPOCH)),
            stalls: (0..2 * count).map(stalls).collect(),
            reports: alloc::vec![report; count as usize],
            warm: alloc::vec![0; count as usize],
            waits: BTreeMap::new(),
            lost: (0, 0),
            message: Bytes::from(alloc::vec![7; 60_000]),
            out: Vec::new(),
        };
        for (index, flow) in (0..).zip(&plan.flows) {
            line.calendar.plan(later(flow.starts), Due::Begin(index));
            if let Some(Blackout { from, until }) = flow.pause {
                line.calendar.plan(later(from), Due::Read(index, false));
                line.calendar.plan(later(until), Due::Read(index, true));
            }
        }
        line.calendar.plan(EPOCH + Duration::from_micros(TENTH), Due::Tick);
        line
    }

    /// Runs to the horizon, and says what was measured.
    pub(super) fn finish(mut self, mut watch: impl FnMut(Instant, &SenderView)) -> LineReport {
        let end = EPOCH + self.plan.horizon;
        while self.calendar.next().is_some_and(|at| at <= end)
            && let Some((at, due)) = self.calendar.pop()
        {
            self.now = at;
            if let Some(later) = self.stalled(&due) {
                // Before what comes at that instant.
                self.calendar.plan_first(later, due);
                continue;
            }
            match due {
                Due::Begin(index) => self.begin(index),
                Due::Arrive(number, data, marked) => self.arrive(number, data, marked),
                Due::Wake(number) => self.turn(number, |_, _, _| {}),
                Due::Read(index, on) => {
                    self.turn(2 * index + 1, |end, now, out| end.read(now, on, out));
                }
                Due::Tick => {
                    self.tick();
                    let endpoint = self.flows[0].ends[0].node.datagrams();
                    let views = endpoint.map(servent_core::unicast::Endpoint::view);
                    let view = views.and_then(|mut views| views.pop()?.sender);
                    view.iter().for_each(|view| watch(earlier(at), view));
                }
            }
        }
        self.report()
    }

    /// When the node that this is for runs again, if it does not run now.
    fn stalled(&mut self, due: &Due) -> Option<Instant> {
        let (Due::Arrive(number, ..) | Due::Wake(number)) = due else { return None };
        self.stalls[*number as usize].end(self.now)
    }

    fn begin(&mut self, index: u32) {
        for number in [2 * index, 2 * index + 1] {
            self.turn(number, super::flow::End::start);
        }
    }

    /// One turn of a node: its input, its timers, and what its application does.
    fn turn(
        &mut self,
        number: u32,
        act: impl FnOnce(&mut super::flow::End, Instant, &mut Vec<Leaving>),
    ) {
        let (now, mut out) = (self.now, core::mem::take(&mut self.out));
        let flow = &mut self.flows[(number / 2) as usize];
        let sends =
            is_sender(number) && (flow.plan.stops == Instant::ZERO || now < later(flow.plan.stops));
        let end = flow.end(number);
        if end.armed.is_some_and(|at| at <= now) {
            end.armed = None;
        }
        act(end, now, &mut out);
        end.wake(now, &mut out);
        if sends {
            end.offer(now, &self.message, &mut out);
        }
        end.input(now, Input::Messages(MessageInput::Flush), &mut out);
        end.wake(now, &mut out);
        let next = end.node.poll_timeout().map(|(at, _)| at);
        if let Some(at) = next.filter(|at| end.armed.is_none_or(|armed| *at < armed)) {
            end.armed = Some(at);
            self.calendar.plan(at, Due::Wake(number));
        }
        for (to, data) in out.drain(..) {
            self.launch(number, to, data);
        }
        self.out = out;
    }

    /// What leaves a node, as a liar has it.
    fn twisted(&mut self, from: u32, data: UnicastPayload) -> Option<UnicastPayload> {
        let now = earlier(self.now);
        let Some(liar) = &mut self.flows[(from / 2) as usize].liar else { return Some(data) };
        if !is_sender(from) {
            return liar.tells(now, data);
        }
        if let Some(forged) = liar.sees(now, &data) {
            self.calendar.plan(self.now, Due::Arrive(from, forged, false));
        }
        Some(data)
    }

    fn launch(&mut self, from: u32, to: u32, data: UnicastPayload) {
        let Some(data) = self.twisted(from, data) else { return };
        let Self { plan, now, there, flows, .. } = self;
        let bytes = data.len() as u32;
        let dark = plan.blackouts.iter().any(|it| it.holds(earlier(*now)));
        let swallowed =
            plan.narrows.is_some_and(|(from, most)| earlier(*now) >= from && bytes > most);
        let flow = &mut flows[(from / 2) as usize];
        let mut marked = false;
        let fate = if is_sender(from) {
            flow.sent += 1;
            if self.policer.as_mut().is_some_and(|policer| !policer.pass(*now, bytes)) {
                return;
            }
            let waits = there.waits(*now).as_micros();
            let found = u128::from(waits) * u128::from(plan.link.rate) / 1_000_000;
            if let Some(marks) = plan.marks
                && flow.may_be_marked()
            {
                let full = found >= u128::from(marks);
                flow.capable += 1;
                marked = flow.tests_marks(*now) || full;
            }
            marked &= !plan.clears;
            let fate = there.send(&plan.link, *now, bytes);
            if fate.loss != Some(DatagramLoss::Queue) && *now >= EPOCH + plan.warm {
                *self.waits.entry(waits / 100).or_default() += 1;
            }
            match fate.loss {
                Some(DatagramLoss::Queue) => self.lost.0 += 1,
                Some(_) => self.lost.1 += 1,
                None => {}
            }
            fate
        } else {
            flow.back.send(&plan.back, *now, bytes)
        };
        if fate.loss.is_some() || dark || swallowed {
            return;
        }
        if let Some(copy) = fate.copy {
            self.calendar.plan(copy, Due::Arrive(to, data.clone(), marked));
        }
        self.calendar.plan(fate.due, Due::Arrive(to, data, marked));
    }

    fn arrive(&mut self, number: u32, data: UnicastPayload, marked: bool) {
        if self.plan.blackouts.iter().any(|it| it.holds(earlier(self.now))) {
            return;
        }
        self.turn(number, |end, now, out| end.arrived(now, number ^ 1, (data, marked), out));
    }

    fn tick(&mut self) {
        let warm = self.now <= EPOCH + self.plan.warm;
        for ((flow, report), begun) in self.flows.iter().zip(&mut self.reports).zip(&mut self.warm)
        {
            let delivered = flow.ends[1].delivered;
            report.tenths.push(delivered - report.delivered);
            report.delivered = delivered;
            let arrived = delivered + flow.ends[1].waiting();
            let before: u64 = report.arrived.iter().sum();
            report.arrived.push(arrived.saturating_sub(before));
            if warm {
                *begun = delivered;
            }
        }
        self.calendar.plan(self.now + Duration::from_micros(TENTH), Due::Tick);
    }

    fn report(mut self) -> LineReport {
        let measured = self.plan.horizon.as_micros() - self.plan.warm.as_micros();
        for ((flow, report), begun) in self.flows.iter().zip(&mut self.reports).zip(&self.warm) {
            report.delivered = flow.ends[1].delivered;
            let bits = u128::from(report.delivered - begun) * 8_000_000;
            report.goodput = (bits / u128::from(measured.max(1))) as u64;
            (report.sent, report.capable) = (flow.sent, flow.capable);
            report.ended = flow.ends[0].ended.map(earlier);
            if let Some(endpoint) = flow.ends[0].node.datagrams() {
                let counters = endpoint.counters();
                report.messages = (counters.sent, counters.resent);
            }
        }
        let (queueing, queueing_95) = (self.quantile(50), self.quantile(95));
        let (overflowed, chance) = self.lost;
        LineReport { flows: self.reports, queueing, queueing_95, overflowed, chance }
    }

    fn quantile(&mut self, percent: u64) -> Duration {
        let total: u64 = self.waits.values().sum();
        let mut seen = 0;
        let found = self.waits.iter().find(|(_, count)| {
            seen += **count;
            seen * 100 >= total * percent
        });
        Duration::from_micros(found.map_or(0, |(step, _)| step * 100))
    }
}

/// An instant of the plan, in the world's time.
fn later(at: Instant) -> Instant {
    EPOCH + at.since(Instant::ZERO)
}

/// An instant of the world, in the plan's time.
fn earlier(at: Instant) -> Instant {
    Instant::ZERO + at.since(EPOCH)
}
