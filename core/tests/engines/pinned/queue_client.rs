//! Our place in the queue of a server that says anything.

use std::fmt::Write as _;

use servent_core::engine::{Engine as _, Fx};
use servent_core::id::Guid;
use servent_core::queue::Dialect;
use servent_core::queue::client::{Config, Input, QueueClient, StoredPosition};
use servent_core::rng::Rng;
use servent_core::time::{Duration, Instant};
use servent_core::trace::Digest;
use servent_core::wire::queue::ToldPlace;

fn told(dice: &mut Rng) -> ToldPlace {
    let dialects = [Dialect::Active, Dialect::Parq, Dialect::Parq11, Dialect::Passive];
    let mut length = |most: u64| Some(Duration::from_millis(dice.below(most)));
    let (retry_after, lifetime, eta) = (length(90_000), length(400_000), length(90_000));
    let some = dice.below(8);
    ToldPlace {
        dialect: *dice.pick(&dialects).unwrap(),
        ticket: Some(Guid([dice.below(5) as u8; 16])).filter(|_| dice.chance(1, 2)),
        position: Some(dice.below(40) as u32).filter(|_| dice.chance(4, 5)),
        length: Some(40).filter(|_| dice.chance(1, 2)),
        limit: None,
        retry_after: retry_after.filter(|_| some & 1 == 0),
        lifetime: lifetime.filter(|_| some & 2 == 0),
        eta: eta.filter(|_| some & 4 == 0),
        keep: dice.chance(1, 2),
        lost: None,
    }
}

fn input(dice: &mut Rng) -> Input {
    let time = Duration::from_millis(dice.below(100_000));
    match dice.below(12) {
        0 => Input::Rest,
        1..5 => Input::Told(told(dice)),
        5 => Input::Busy(Some(time).filter(|_| dice.chance(2, 3))),
        6 => Input::Served(Some(Guid([9; 16])).filter(|_| dice.chance(1, 2))),
        7 => Input::Broken(time),
        8 => Input::Called,
        9 if dice.chance(1, 2) => Input::AskNow,
        9 => Input::Sleep(time),
        _ => Input::Want,
    }
}

fn live(seed: u64) -> u64 {
    let (mut dice, mut digest, mut fx) = (Rng::new(seed), Digest::default(), Fx::new());
    let longest = Duration::from_secs(60);
    let config = Config { time_scale: 1 + seed as u32 % 3, longest, ..Config::default() };
    let (mut client, mut now) = (QueueClient::new(config), Instant::from_secs(9_000));
    for _ in 0..300 {
        let until = now + Duration::from_millis(dice.below(30_000));
        while let Some((at, _)) = client.poll_timeout().filter(|(at, _)| *at <= until) {
            now = now.max(at);
            client.handle_timeout(now, &mut fx);
        }
        now = until;
        if dice.chance(1, 40) {
            let (ticket, told) = (Guid([8; 16]), Some(4));
            let not_before = now + Duration::from_secs(dice.below(90));
            let deadline = not_before + Duration::from_secs(90);
            client.restore(StoredPosition { ticket, told, not_before, deadline }, now);
        }
        let input = input(&mut dice);
        client.handle(now, input, &mut fx);
        fx.drain().for_each(|effect| digest.add(&effect));
        digest.add(&(client.place(), client.ask_at(), client.remembered(), client.claim()));
        digest.add(&client.poll_timeout());
    }
    digest.value()
}

#[test]
fn drawn_places_are_kept_as_they_were() {
    let mut now = String::new();
    (0..12).for_each(|seed| writeln!(now, "{seed} {:016x}", live(seed)).unwrap());
    super::compare("queue_client", include_str!("queue_client.txt"), &now);
}
