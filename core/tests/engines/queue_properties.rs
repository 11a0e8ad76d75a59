//! Whatever strangers send, in whatever order: the queue server keeps its
//! promises and its size.

use crate::contract;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use contract::{Step, keeps_the_contract};
use proptest::prelude::*;
use servent_core::engine::{Engine as _, Fx};
use servent_core::id::{ConnId, Guid};
use servent_core::queue::server::{
    Input, Output, PlaceView, QueueRequest, QueueServer, QueueVerdict, View,
};
use servent_core::queue::{Config, Dialect, Event, FileKey, QueuePolicy, RowState, StoredEntry};
use servent_core::rng::Rng;
use servent_core::time::{Duration, Instant};

const CAPACITY: u32 = 12;
const START: Instant = Instant::from_secs(1_000_000);

fn config() -> Config {
    Config { slots: 2, capacity: CAPACITY, per_ip: 5, sync_places: 3, ..Config::default() }
}

fn adaptive() -> Config {
    Config { policy: QueuePolicy::Adaptive, holds: 4, ..config() }
}

/// Names for ids: the first stands for the first id the server gives, and so
/// on; a name the server never comes to is an id no client has.
fn names() -> Vec<Guid> {
    (0..20).map(|n| Guid([n; 16])).collect()
}

/// The same steps with the ids the server will really have given by then, so
/// that strangers know real ones.
fn with_real_ids(mut steps: Vec<Step<Input>>) -> Vec<Step<Input>> {
    let mut server = QueueServer::new(config(), Rng::new(1));
    let (mut now, mut fx, mut given) = (START, Fx::new(), Vec::new());
    for step in &mut steps {
        now += step.after;
        while server.poll_timeout().is_some_and(|(at, _)| at <= now) {
            server.handle_timeout(now, &mut fx);
        }
        fx.drain().for_each(drop);
        let named = match &mut step.input {
            Input::Request(QueueRequest { ticket: Some(ticket), .. })
            | Input::CallDone { ticket, .. }
            | Input::Restore(StoredEntry { ticket, .. }) => Some(ticket),
            _ => None,
        };
        if let Some(id) = named
            && let Some(number) = names().iter().position(|name| name == id)
            && let Some(real) = given.get(number)
        {
            *id = *real;
        }
        server.handle(now, step.input, &mut fx);
        for output in fx.outputs() {
            let Output::Reply { verdict, .. } = output else { continue };
            let ticket = match verdict {
                QueueVerdict::Start { ticket, .. } => *ticket,
                QueueVerdict::Wait(place) => place.ticket,
                QueueVerdict::Busy { .. } | QueueVerdict::Hammering { .. } => continue,
            };
            if !given.contains(&ticket) {
                given.push(ticket);
            }
        }
        fx.drain().for_each(drop);
    }
    steps
}

fn dialects() -> impl Strategy<Value = Dialect> {
    prop::sample::select(vec![Dialect::Active, Dialect::Parq, Dialect::Parq11, Dialect::Passive])
}

fn peers() -> impl Strategy<Value = IpAddr> {
    (0_u32..4).prop_map(|n| IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 + n)))
}

fn conns() -> impl Strategy<Value = ConnId> {
    (0_u64..10).prop_map(ConnId)
}

fn requests() -> impl Strategy<Value = Input> {
    let ticket = prop::option::of(prop::sample::select(names()));
    let told = prop::option::of(0_u32..CAPACITY + 2);
    let file = (0_u64..3).prop_map(FileKey);
    let called = prop::option::of(peers().prop_map(|ip| SocketAddr::new(ip, 6346)));
    (conns(), peers(), dialects(), file, any::<u64>(), ticket, told, called).prop_map(
        |(conn, peer, dialect, file, bytes, ticket, told, callback)| {
            let (waits, sleeps) = (bytes % 3 != 0, bytes % 5 == 0);
            Input::Request(QueueRequest {
                conn,
                peer,
                dialect,
                file,
                bytes,
                rest: 0,
                ticket,
                told,
                callback,
                waits,
                sleeps,
            })
        },
    )
}

fn rows() -> impl Strategy<Value = Input> {
    let states = vec![RowState::Waiting, RowState::Uploading, RowState::Reserved];
    let times = (any::<u64>(), any::<u64>())
        .prop_map(|(a, b)| (Instant::from_micros(a), Instant::from_micros(b)));
    let who = (prop::sample::select(names()), peers(), dialects(), prop::sample::select(states));
    (who, any::<u64>(), times, any::<u32>(), any::<u8>()).prop_map(
        |((ticket, peer, dialect, state), arrival, (not_before, deadline), told, breaks)| {
            let (file, bytes, callback) = (FileKey(1), u64::MAX, Some(SocketAddr::new(peer, 9)));
            Input::Restore(StoredEntry {
                ticket,
                arrival,
                state,
                peer,
                dialect,
                file,
                bytes,
                told,
                not_before,
                deadline,
                callback,
                breaks,
            })
        },
    )
}

fn inputs() -> impl Strategy<Value = Input> {
    prop_oneof![
        12 => requests(),
        3 => (conns(), any::<bool>()).prop_map(|(conn, last)| Input::Finished { conn, last }),
        2 => conns().prop_map(|conn| Input::Broken { conn }),
        2 => conns().prop_map(|conn| Input::Answer { conn }),
        2 => (conns(), any::<u64>()).prop_map(|(conn, bytes)| Input::Progress { conn, bytes }),
        3 => conns().prop_map(|conn| Input::Gone { conn }),
        1 => (0_u32..4).prop_map(Input::Slots),
        1 => (prop::sample::select(names()), any::<bool>())
            .prop_map(|(ticket, ok)| Input::CallDone { ticket, ok }),
        1 => rows(),
        1 => Just(Input::Resume),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step<Input>>> {
    let after = prop_oneof![
        3 => Just(Duration::ZERO),
        3 => (0_u64..40_000).prop_map(Duration::from_millis),
        1 => (0_u64..700).prop_map(Duration::from_secs),
    ];
    let step = (after, inputs()).prop_map(|(after, input)| Step { after, input });
    prop::collection::vec(step, 0..120).prop_map(with_real_ids)
}

/// Every client in line, in order, with the arrival each came with.
#[derive(Default)]
struct Watch {
    arrivals: BTreeMap<Guid, u64>,
    order: Vec<Guid>,
}

impl Watch {
    /// Checks one moment against the one before.
    fn look(&mut self, server: &QueueServer, now: Instant, fx: &Fx<Output, Event>) {
        let view = server.view(1, u32::MAX, now);
        assert_eq!(view.length as usize, view.places.len());
        assert_eq!(view.free, view.slots.saturating_sub(view.uploads.len() as u32));
        for event in fx.events() {
            match event {
                Event::Arrived { ticket, arrival, .. }
                | Event::Restored { ticket, arrival, .. }
                | Event::Returned { ticket, arrival, .. }
                | Event::Moved { ticket, arrival, .. } => {
                    self.arrivals.insert(*ticket, *arrival);
                }
                Event::Started { free, .. } => assert!(*free < view.slots),
                Event::Told { position, length, not_before, deadline, .. } => {
                    assert!(*position >= 1 && position <= length && not_before < deadline);
                }
                _ => {}
            }
        }
        let order: Vec<Guid> = view.places.iter().map(|place| place.ticket).collect();
        let arrivals: Vec<u64> = order.iter().map(|ticket| self.arrivals[ticket]).collect();
        assert!(arrivals.is_sorted(), "the line is in order of arrival");
        let excused: Vec<Guid> = fx.events().filter_map(left).collect();
        for ticket in &self.order {
            let there = order.contains(ticket) || excused.contains(ticket);
            assert!(there, "a place vanished without a word");
        }
        let kept = view.places.iter().filter(|place| place.entitled).count();
        assert!(kept as u32 <= free_within(&view), "no more slots are kept than there are");
        self.order = order;
    }
}

/// The share of one address in so many slots.
fn share(slots: u32) -> usize {
    slots.div_ceil(2).max(1) as usize
}

/// Slots that are free for a client with less than its share: others hold the rest, of
/// which what is beyond their own shares does not count.
fn free_within(view: &View) -> u32 {
    let mut held: BTreeMap<IpAddr, usize> = BTreeMap::new();
    for upload in &view.uploads {
        *held.entry(upload.peer).or_default() += 1;
    }
    let counted: usize = held.values().map(|held| (*held).min(share(view.slots))).sum();
    view.slots.saturating_sub(counted as u32)
}

fn held_by(view: &View, peer: IpAddr) -> usize {
    view.uploads.iter().filter(|upload| upload.peer == peer).count()
}

/// No address keeps the others out: no client gets more than its share but of slots
/// that are free, and a client that has less is served where no other waits.
fn shares_are_kept(
    before: &View,
    after: &View,
    asked: Option<&QueueRequest>,
    fx: &Fx<Output, Event>,
) {
    let ended = |e: &Event| matches!(e, Event::Finished { .. } | Event::Unreserved { .. });
    let full = before.free == 0 && after.slots == before.slots && !fx.events().any(ended);
    for event in fx.events().filter(|_| full) {
        let Event::Started { peer, .. } = event else { continue };
        assert!(held_by(after, *peer) <= share(after.slots), "{peer} got what it had lent");
    }
    let Some(asked) = asked else { return };
    let known = |ticket, conn| asked.ticket == Some(ticket) || conn == Some(asked.conn);
    let stranger = !before.uploads.iter().any(|one| {
        let reserved = one.peer == asked.peer && one.reserved_until.is_some();
        known(one.ticket, one.conn) || reserved
    });
    let refused = fx.events().any(|event| matches!(event, Event::Refused { .. }));
    let has_less = held_by(before, asked.peer) < share(before.slots);
    if stranger && before.length == 0 && has_less && free_within(before) > 0 && !refused {
        let started =
            fx.events().any(|e| matches!(e, Event::Started { conn, .. } if *conn == asked.conn));
        assert!(started, "{asked:?} was kept out by {before:?}");
    }
}

fn left(event: &Event) -> Option<Guid> {
    match event {
        Event::Lost { ticket, .. } | Event::Started { ticket, .. } => Some(*ticket),
        _ => None,
    }
}

fn play(config: Config, steps: Vec<Step<Input>>) {
    let mut server = QueueServer::new(config, Rng::new(1));
    let (mut now, mut watch, mut fx) = (START, Watch::default(), Fx::new());
    let mut held = BTreeSet::new();
    let mut restored = 0;
    for step in steps {
        now += step.after;
        while server.poll_timeout().is_some_and(|(at, _)| at <= now) {
            server.handle_timeout(now, &mut fx);
            watch.look(&server, now, &fx);
            answered(&fx, None, &mut held);
            fx.drain().for_each(drop);
        }
        restored += usize::from(matches!(step.input, Input::Restore(_)));
        let asked = match &step.input {
            Input::Request(request) => Some(*request),
            _ => None,
        };
        if let Input::Gone { conn } | Input::Broken { conn } = &step.input {
            held.remove(conn);
        }
        if let Some(asked) = &asked
            && held.contains(&asked.conn)
        {
            server.handle(now, Input::Answer { conn: asked.conn }, &mut fx);
            watch.look(&server, now, &fx);
            answered(&fx, None, &mut held);
            fx.drain().for_each(drop);
        }
        let at_first = server.view(1, u32::MAX, now);
        let before = &at_first.places;
        server.handle(now, step.input, &mut fx);
        watch.look(&server, now, &fx);
        answered(&fx, asked.as_ref().map(|request| request.conn), &mut held);
        shares_are_kept(&at_first, &server.view(1, 0, now), asked.as_ref(), &fx);
        if let Some(asked) = asked {
            let hurt = before.iter().filter(|place| !is_of(place, &asked));
            for place in hurt {
                let lost =
                    |e: &Event| matches!(e, Event::Lost { ticket, .. } if *ticket == place.ticket);
                assert!(!fx.events().any(lost), "{asked:?} cost another client {place:?}");
            }
        }
        assert!(server.length() as usize <= CAPACITY as usize + restored);
        fx.drain().for_each(drop);
    }
}

/// True when a request may lose this place: it names it, comes on its
/// connection, or is from the address that a passive place is known by.
fn is_of(place: &PlaceView, asked: &QueueRequest) -> bool {
    let passive = place.dialect == Dialect::Passive && asked.dialect == Dialect::Passive;
    place.conn == Some(asked.conn)
        || asked.ticket == Some(place.ticket)
        || (passive && place.peer == asked.peer)
}

/// Every request is answered once, at once or when it has been held, and what
/// is promised is saved before.
fn answered(fx: &Fx<Output, Event>, asked: Option<ConnId>, held: &mut BTreeSet<ConnId>) {
    let mut saved = Vec::new();
    held.extend(asked);
    for output in fx.outputs() {
        match output {
            Output::Save(row) => saved.push(row.ticket),
            Output::Reply { conn, verdict } => {
                assert!(held.remove(conn), "no client asked, or it was answered before");
                if let QueueVerdict::Wait(place) = verdict
                    && place.dialect != Dialect::Active
                {
                    assert!(saved.contains(&place.ticket), "write before reply");
                }
            }
            Output::Hangup { conn, .. } => drop(held.remove(conn)),
            Output::Forget(_) | Output::Call { .. } => {}
        }
    }
    let waits = fx.events().any(|event| matches!(event, Event::Held { .. }));
    assert!(waits || asked.is_none_or(|conn| !held.contains(&conn)), "no answer, and not held");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_inputs_keep_the_contract_of_an_engine(steps in steps()) {
        for config in [config(), adaptive()] {
            let server = keeps_the_contract(|| QueueServer::new(config, Rng::new(1)), &steps, 200);
            prop_assert!(server.length() <= CAPACITY + steps.len() as u32);
        }
    }

    #[test]
    fn any_inputs_keep_order_slots_and_the_places_of_others(steps in steps()) {
        play(config(), steps.clone());
        play(adaptive(), steps);
    }
}
