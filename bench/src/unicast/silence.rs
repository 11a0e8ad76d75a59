//! Memory while the other side says nothing.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::Result;
use servent_core::engine::{Effect, Engine as _, Fx};
use servent_core::rng::Rng;
use servent_core::time::{Duration as Span, Instant};
use servent_core::unicast::{Config, DeliveryOrder, Endpoint, Input, Output, UnicastPayload};
use stats_alloc::{INSTRUMENTED_SYSTEM, Stats};

use super::process::Process;
use super::through::SMALL;
use super::words::{Job, Part};
use crate::measure::{now, pause};
use crate::report::{Report, Target};

const MIB: f64 = 1024.0 * 1024.0;

/// A minute on a virtual clock, and the same minute with real processes.
pub(super) fn run(report: &mut Report, quick: bool) -> Result<()> {
    report.note("memory while the other side is silent");
    let (early, late) = minute();
    let case = "silent peer, engine, 60 s of virtual time, bytes at 60 s over bytes at 2 s";
    report.add(("unicast", case, "ratio"), late / early, ("", None), &Target::AtMost(1.05));
    let time = Duration::from_secs(if quick { 2 } else { 60 });
    // Both at once: they only wait.
    let (sender, receiver) = std::thread::scope(|scope| {
        let sender = scope.spawn(|| frozen_peer(true, time));
        let receiver = frozen_peer(false, time);
        (sender.join().expect("it does not panic"), receiver)
    });
    for (who, frozen, memory) in
        [("sender", "receiver", sender?), ("receiver", "sender", receiver?)]
    {
        let (early, late) = memory;
        let case = format!("{who}, {frozen} stopped for {} s: growth", time.as_secs());
        report.add(
            ("unicast", case, "MiB"),
            (late - early) / MIB,
            ("resident", Some(early / MIB)),
            &Target::AtMost(1.0),
        );
    }
    Ok(())
}

/// An application that always wants to send and a peer that answered once;
/// bytes allocated after 2 s and after 60 s.
fn minute() -> (f64, f64) {
    let config = Config { unreachable: Span::from_secs(120), ..Config::default() };
    let live = |stats: Stats| stats.bytes_allocated as f64 - stats.bytes_deallocated as f64;
    let before = live(INSTRUMENTED_SYSTEM.stats());
    let mut end = Endpoint::new(config, Rng::new(1));
    let peer = SocketAddr::from(([10, 0, 0, 2], 7_000));
    let message = UnicastPayload::from(vec![7; 1_024]);
    let (mut fx, mut early) = (Fx::new(), 0.0);
    for ms in 1..=60_000 {
        let at = Instant::from_micros(ms * 1_000);
        if ms % 10 == 0 {
            // More than fits, so that refusals are part of it.
            let mut full = false;
            while !full {
                let payload = message.clone();
                end.handle(
                    at,
                    Input::Send { peer, payload, order: DeliveryOrder::InOrder },
                    &mut fx,
                );
                full = fx.drain().any(|e| matches!(e, Effect::Output(Output::Refused { .. })));
            }
        }
        while end.poll_timeout().is_some_and(|(due, _)| due <= at) {
            end.handle_timeout(at, &mut fx);
            fx.drain().for_each(drop);
        }
        if ms == 2_000 {
            early = live(INSTRUMENTED_SYSTEM.stats()) - before;
        }
    }
    (early, live(INSTRUMENTED_SYSTEM.stats()) - before)
}

/// Resident bytes of the one, half a second after the other was stopped in
/// its tracks and at the end.
fn frozen_peer(receiver_stops: bool, time: Duration) -> Result<(f64, f64)> {
    let job = Job {
        contender: SMALL,
        on: Ipv4Addr::LOCALHOST.into(),
        size: 1_024,
        warm_ms: 0,
        measure_ms: 3_600_000,
        count: 0,
    };
    let mut receiver = Process::start(&Part::Receive(job))?;
    let sender = Process::start(&Part::Send(job, receiver.says()?))?;
    wait(Duration::from_secs(1));
    let (stopped, watched) =
        if receiver_stops { (&receiver, &sender) } else { (&sender, &receiver) };
    stopped.freeze(true)?;
    wait(Duration::from_millis(500));
    let early = watched.resident()?;
    wait(time);
    let late = watched.resident()?;
    stopped.freeze(false)?;
    Ok((early as f64, late as f64))
}

fn wait(time: Duration) {
    let until = now() + time;
    while now() < until {
        pause();
    }
}
