//! Swarms of a divided site: coordinators that each lead some of them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use crate::swarm_nodes;

use servent_core::id::FileKey;
use servent_core::lease::Partition;
use servent_core::lease::membership::Leader;
use servent_core::node::swarm::{self, PartitionedAccount, SwarmFile, SwarmOp, swarm_key};
use servent_core::node::{ConnEvent, Input, NodeAnswer, NodeOp, RestoredNode, SiteInput};
use servent_core::swarm::FileSpec;
use servent_core::swarm::client::Event as ClientEvent;
use servent_core::time::Duration;
use servent_core::trace::Event;
use servent_core::wire::pdtp::{parse, url_of};
use swarm_nodes::{World, client, coordinator, noise, spec};

const MINUTES: Duration = Duration::from_secs(600);

/// The part of the swarm that most tests are about.
fn part() -> Partition {
    Partition::containing(swarm_key(&url_of("film")))
}

/// Who leads that part; no member leads another one.
fn leaders(its: Leader) -> Input {
    let of = |one: Partition| if one == part() { its } else { Leader::Vacant };
    Input::Site(SiteInput::Divided { leaders: Partition::all().map(of).collect() })
}

fn leads(parts: impl Iterator<Item = Partition>) -> Input {
    Input::Site(SiteInput::Leads { parts: parts.collect(), queue: Vec::new() })
}

/// A member that has the film, and leads nothing.
fn member(world: &mut World, bytes: &[u8]) -> (usize, SocketAddr) {
    let number = world.start(coordinator(), RestoredNode::default());
    world.give(number, leaders(Leader::Vacant));
    world.serve(number, bytes, 4_096);
    (number, world.hosts[number].at)
}

/// What a store would give to the one that leads the swarms of a member next.
fn accounts(world: &World, number: usize) -> Vec<PartitionedAccount> {
    let mut all: BTreeMap<(FileKey, IpAddr), PartitionedAccount> = BTreeMap::new();
    for op in &world.hosts[number].ops {
        match op {
            NodeOp::Swarm(SwarmOp::Account(account)) => {
                all.insert((account.swarm, account.row.owner), account.clone());
            }
            NodeOp::Swarm(SwarmOp::AccountGone { swarm, owner }) => {
                all.remove(&(*swarm, *owner));
            }
            NodeOp::Servent(_) => {}
            other => panic!("a member saves {other:?}"),
        }
    }
    all.into_values().collect()
}

fn held(world: &World, number: usize) -> u32 {
    let view = world.hosts[number].node.swarm(0).client.unwrap();
    view.files.first().map_or(0, |file| file.held)
}

fn refused(world: &World, number: usize) -> Option<&str> {
    world.hosts[number].answers.iter().find_map(|answer| match answer {
        NodeAnswer::Swarm(swarm::SwarmAnswer::Refused { why, .. }) => Some(&why[..]),
        _ => None,
    })
}

fn client_events(world: &World, number: usize) -> impl Iterator<Item = &ClientEvent> {
    world.hosts[number].events.iter().filter_map(|event| match event {
        Event::Client(event) => Some(event),
        _ => None,
    })
}

/// The messages that a stranger who said this was told.
fn told(
    world: &World,
    conn: servent_core::id::ConnId,
) -> Vec<servent_core::wire::pdtp::PdtpMessage> {
    let mut bytes = &world.told[&conn][..];
    let mut all = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<2>() {
        let (body, rest) = rest.split_at(usize::from(u16::from_be_bytes(*length)));
        all.extend(parse(body, &Default::default()).unwrap());
        bytes = rest;
    }
    all
}

fn frame(text: &str) -> String {
    let length = u16::try_from(text.len()).unwrap().to_be_bytes();
    assert_eq!(length[0], 0, "it is a text");
    format!("\0{}{text}", char::from(length[1]))
}

/// The client asks the wrong one first. When the right one dies, the other one has
/// the ledger, and the client finds it though its user was not given that name.
#[test]
fn st_4_a_swarm_has_one_leader_and_its_clients_find_the_next_one() {
    let bytes = noise(200_000);
    let mut world = World::new();
    let (one, at) = member(&mut world, &bytes);
    let (two, beside) = member(&mut world, &bytes);
    world.give(one, leads([part()].into_iter()));
    world.give(two, leaders(Leader::At(at)));
    let third = Partition::all().find(|other| *other != part()).unwrap();
    let of = |one: Partition| match one {
        one if one == part() => Leader::Us,
        one if one == third => Leader::At(beside),
        _ => Leader::Vacant,
    };
    world
        .give(one, Input::Site(SiteInput::Divided { leaders: Partition::all().map(of).collect() }));
    let clients: Vec<usize> =
        (0..3).map(|_| world.start(client(), RestoredNode::default())).collect();
    world.want(clients[0], beside);
    world.want(clients[1], beside);
    world.want(clients[2], at);
    world.until(MINUTES, |world| clients.iter().all(|client| held(world, *client) >= 10));
    let elsewhere = |e: &&Event| matches!(e, Event::Conn(ConnEvent::Elsewhere { to: Some(_), .. }));
    assert_eq!(world.hosts[two].events.iter().filter(elsewhere).count(), 2);
    assert_eq!(world.hosts[two].node.swarm(0).coordinator.unwrap().sent, 0);
    world.kill(one);
    let remembered = accounts(&world, one);
    let given: u64 = remembered.iter().map(|account| account.row.uploads).sum();
    assert!(given > 0 && remembered.len() == 3, "{remembered:?}");
    world.give(two, leaders(Leader::Vacant));
    world.give(two, Input::Swarm(swarm::Input::Accounts { accounts: remembered.clone() }));
    world.give(two, leads([part()].into_iter()));
    world.until(MINUTES, |world| clients.iter().all(|client| world.is_whole(*client)));
    for number in &clients {
        assert_eq!(world.hosts[*number].files[&SwarmFile(1)], bytes);
    }
    for (before, after) in remembered.iter().zip(accounts(&world, two)) {
        assert_eq!((after.swarm, after.row.owner), (before.swarm, before.row.owner));
        assert!(after.row.uploads >= before.row.uploads, "{before:?} {after:?}");
        assert!(after.row.downloads >= before.row.downloads, "{before:?} {after:?}");
    }
    for number in 0..world.hosts.len() {
        let (verified, checkpoints, damaged) = world.replay(number);
        assert_eq!((verified, damaged), (checkpoints, 0), "node {number}");
    }
}

/// What an address has earned in one swarm is worth nothing in another one.
#[test]
fn st_4_each_swarm_has_a_ledger_of_its_own() {
    let bytes = noise(60_000);
    let mut world = World::new();
    let (one, at) = member(&mut world, &bytes);
    let other = FileSpec { url: url_of("other"), ..spec(&bytes, 4_096) };
    world.hosts[one].files.insert(SwarmFile(5), bytes.clone());
    world.tell(one, swarm::SwarmCommand::Serve { file: SwarmFile(5), spec: other });
    world.give(one, leads(Partition::all()));
    let clients: Vec<usize> =
        (0..4).map(|_| world.start(client(), RestoredNode::default())).collect();
    for (number, client) in clients.iter().enumerate() {
        let url = url_of(if number < 2 { "film" } else { "other" });
        let coordinator = vec![at];
        let file = SwarmFile(1);
        world.tell(*client, swarm::SwarmCommand::Want { file, url, coordinator, sha256: None });
    }
    world.until(MINUTES, |world| clients.iter().all(|client| world.is_whole(*client)));
    let of = |number: usize| world.hosts[clients[number]].at.ip();
    let mut found: BTreeMap<FileKey, BTreeSet<IpAddr>> = BTreeMap::new();
    for account in accounts(&world, one) {
        found.entry(account.swarm).or_default().insert(account.row.owner);
    }
    let expected = [
        (swarm_key(&url_of("film")), [of(0), of(1)].into()),
        (swarm_key(&url_of("other")), [of(2), of(3)].into()),
    ];
    assert_eq!(found, BTreeMap::from(expected));
    let view = world.hosts[one].node.swarm(9).coordinator.unwrap().swarm;
    assert_eq!((view.clients, view.ledger), (4, 4));
    let names: Vec<(&str, u32)> = view.files.iter().map(|f| (&f.url[..], f.members)).collect();
    assert_eq!(names, [(&url_of("film")[..], 2), (&url_of("other")[..], 2)]);
    let numbers = world.hosts[one].events.iter().filter_map(|event| match event {
        Event::Swarm(servent_core::swarm::Event::Arrived { file, .. }) => Some(*file),
        _ => None,
    });
    assert_eq!(numbers.collect::<BTreeSet<_>>(), BTreeSet::from([0, 1]), "events tell them apart");
}

/// Two that each say the other one has it.
#[test]
fn st_4_a_client_that_is_sent_in_a_circle_says_so_and_ends() {
    let bytes = noise(20_000);
    let mut world = World::new();
    let (one, at) = member(&mut world, &bytes);
    let (two, beside) = member(&mut world, &bytes);
    world.give(one, leaders(Leader::At(beside)));
    world.give(two, leaders(Leader::At(at)));
    let lost = world.start(client(), RestoredNode::default());
    world.want(lost, at);
    world.until(MINUTES, |world| refused(world, lost).is_some());
    let why = refused(&world, lost).unwrap();
    assert!(why.contains("circle") && why.contains(&at.to_string()[..7]), "{why}");
    assert_eq!(world.hosts[lost].dialed, 5, "once, and four times further");
    assert!(client_events(&world, lost).any(|e| matches!(e, ClientEvent::Astray { .. })));
}

/// A coordinator cannot make its clients dial what a stranger may not make them dial.
#[test]
fn st_4_a_client_is_not_sent_to_system_services_or_to_its_own_machine() {
    for to in ["10.0.0.9:25", "127.0.0.1:6086", "0.0.0.0:6086"] {
        let mut world = World::new();
        let (one, at) = member(&mut world, &noise(20_000));
        world.give(one, leaders(Leader::At(to.parse().unwrap())));
        let wise = world.start(client(), RestoredNode::default());
        world.want(wise, at);
        world.until(MINUTES, |world| refused(world, wise).is_some());
        assert!(refused(&world, wise).unwrap().contains(to), "{to}");
        assert_eq!(world.hosts[wise].dialed, 1, "{to}");
    }
}

/// While a part changes hands a client that asks is shown out, and comes again.
#[test]
fn st_4_a_client_that_asks_between_two_leaders_comes_again() {
    let bytes = noise(50_000);
    let mut world = World::new();
    let (one, at) = member(&mut world, &bytes);
    let early = world.start(client(), RestoredNode::default());
    world.want(early, at);
    let offline = |e: &ClientEvent| matches!(e, ClientEvent::Offline { .. });
    world.until(MINUTES, |world| client_events(world, early).filter(|e| offline(e)).count() > 2);
    world.give(one, leads([part()].into_iter()));
    world.until(MINUTES, |world| held(world, early) > 2);
    // It goes, and comes back.
    world.give(one, leaders(Leader::Vacant));
    let remembered = accounts(&world, one);
    assert!(!remembered.is_empty());
    world.give(one, Input::Swarm(swarm::Input::Accounts { accounts: remembered }));
    world.give(one, leads([part()].into_iter()));
    world.until(MINUTES, |world| world.is_whole(early));
}

/// What a member says to those who keep no order.
#[test]
fn st_4_a_guest_of_a_member_keeps_to_the_protocol() {
    use servent_core::wire::pdtp::PdtpMessage as M;
    let mut world = World::new();
    let (one, _) = member(&mut world, &noise(20_000));
    world.give(one, leads([part()].into_iter()));
    let register = r#"["register",{"client_id":"a"}]"#;
    let shown = |world: &mut World, texts: &[&str]| {
        let text: String = texts.iter().map(|text| frame(text)).collect();
        let conn = world.stranger(one, &text);
        told(world, conn)
    };
    let error = |messages: &[M]| match messages.last() {
        Some(M::ProtocolError { message }) => message.clone(),
        other => panic!("{other:?}"),
    };
    let url = url_of("film");
    let ask = format!(r#"["ask_info",{{"url":"{url}"}}]"#);
    assert!(error(&shown(&mut world, &[&ask])).contains("comes first"));
    assert!(error(&shown(&mut world, &[register, register])).contains("already"));
    let verify = format!(r#"["hash_verify",{{"url":"{url}","hash_ok":true}}]"#);
    assert!(error(&shown(&mut world, &[register, &verify])).contains("only the coordinator"));
    assert!(error(&shown(&mut world, &[register, r#"["dance",{}]"#])).contains("dance"));
    let none = shown(&mut world, &[register, r#"["ask_info",{"url":"none"}]"#]);
    assert!(matches!(&none[..], [M::TellInfo { size: None, gone: None, .. }]), "{none:?}");
    let none = shown(&mut world, &[register, r#"["request",{"url":"none"}]"#]);
    assert!(matches!(&none[..], [M::Error { reason, .. }] if reason == "unknown_file"), "{none:?}");
    let some = shown(&mut world, &[register, &ask]);
    assert!(matches!(&some[..], [M::TellInfo { size: Some(20_000), .. }]), "{some:?}");
}

/// What is stored depends on it.
#[test]
fn st_4_a_swarm_is_called_the_same_in_every_version() {
    assert_eq!(swarm_key(&url_of("film.mkv")), FileKey(9_693_582_851_890_258_469));
}

/// A member forgets what is too old, also of swarms that no member serves any more.
#[test]
fn st_4_old_accounts_of_swarms_that_no_member_serves_are_forgotten() {
    let bytes = noise(20_000);
    let mut world = World::new();
    let (one, at) = member(&mut world, &bytes);
    world.give(one, leads(Partition::all()));
    let taker = world.start(client(), RestoredNode::default());
    world.want(taker, at);
    world.until(MINUTES, |world| world.is_whole(taker));
    let mut account = accounts(&world, one).swap_remove(0);
    (account.swarm, account.row.seen) = (FileKey(7), world.now);
    let (two, _) = member(&mut world, &bytes);
    world.now += Duration::from_secs(1_800);
    world.give(two, Input::Swarm(swarm::Input::Accounts { accounts: vec![account.clone()] }));
    let owner = account.row.owner;
    let gone = NodeOp::Swarm(SwarmOp::AccountGone { swarm: FileKey(7), owner });
    assert_eq!(world.hosts[two].ops.last(), Some(&gone));
}
