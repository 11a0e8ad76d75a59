//! Whole nodes that take part in swarms: what goes over the byte boundary.

use crate::swarm_nodes;

use servent_core::id::FileIndex;
use servent_core::node::swarm::{self, SwarmFile};
use servent_core::node::{
    ConnEvent, DiskInput, FileInfo, Input, NodeAnswer, NodeCommand, NodeOp, RestoredNode, RunBit,
};
use servent_core::queue::FileKey;
use servent_core::time::Duration;
use servent_core::trace::Event;
use servent_core::wire::pdtp::{Hash, url_of};
use swarm_nodes::{World, client, coordinator, noise};

const MINUTES: Duration = Duration::from_secs(600);

fn reply_to(world: &World, number: usize, wanted: u16) -> bool {
    let hit =
        |e: &Event| matches!(e, Event::Conn(ConnEvent::Reply { status, .. }) if *status == wanted);
    world.hosts[number].events.iter().any(hit)
}

#[test]
fn a_swarm_of_nodes_gets_its_file_and_every_tape_replays() {
    let bytes = noise(200_000);
    let mut world = World::new();
    let source = world.start(coordinator(), RestoredNode::default());
    world.serve(source, &bytes, 4_096);
    let at = world.hosts[source].at;
    let clients: Vec<usize> =
        (0..5).map(|_| world.start(client(), RestoredNode::default())).collect();
    clients.iter().for_each(|number| world.want(*number, at));
    world.until(MINUTES, |world| clients.iter().all(|number| world.is_whole(*number)));
    for number in &clients {
        assert_eq!(world.hosts[*number].files[&SwarmFile(1)], bytes);
        assert!(world.remembered(*number).parts.is_empty(), "nothing is left to remember");
    }
    let view = world.hosts[source].node.swarm(10).coordinator.unwrap();
    assert!(view.sent < 2 * bytes.len() as u64, "the source sent {}", view.sent);
    assert_eq!(view.swarm.clients, 5);
    let given: u64 =
        clients.iter().map(|n| world.hosts[*n].node.swarm(0).client.unwrap().given).sum();
    assert_eq!(given + view.sent, 5 * bytes.len() as u64);
    // A client that has let peers in uses a connection for one piece after another.
    assert!(clients.iter().all(|number| world.hosts[*number].dialed < 20));
    for number in 0..world.hosts.len() {
        let (verified, checkpoints, damaged) = world.replay(number);
        assert!(checkpoints > 1);
        assert_eq!((verified, damaged), (checkpoints, 0), "node {number}");
    }
}

#[test]
fn a_client_that_accepts_no_peer_gives_and_takes_by_connecting() {
    let bytes = noise(100_000);
    let mut world = World::new();
    let source = world.start(coordinator(), RestoredNode::default());
    world.serve(source, &bytes, 4_096);
    let at = world.hosts[source].at;
    let (active, passive) = (world.start(client(), RestoredNode::default()), world.start_passive());
    world.want(passive, at);
    world.until(MINUTES, |world| world.is_whole(passive));
    world.want(active, at);
    world.until(MINUTES, |world| world.is_whole(active));
    assert_eq!(world.hosts[active].files[&SwarmFile(1)], bytes);
    assert!(reply_to(&world, active, 201), "the passive one has brought pieces");
}

/// A client holds every other one of ten thousand pieces, which is as many
/// runs as there can be, and its coordinator is another one than before.
#[test]
fn sw_26_ten_thousand_pieces_go_on_after_a_restart_of_either_side() {
    let (pieces, chunk) = (10_000, 16);
    let bytes = noise(pieces * chunk);
    let mut world = World::new();
    let source = world.start(coordinator(), RestoredNode::default());
    world.serve(source, &bytes, chunk);
    let at = world.hosts[source].at;
    let have: Vec<(u32, u32)> = (0..pieces as u32).step_by(2).map(|p| (p, p + 1)).collect();
    let part = swarm::PartialFile {
        file: SwarmFile(1),
        url: url_of("film"),
        size: bytes.len() as u64,
        chunk: chunk as u64,
        have,
    };
    let swarm = swarm::RestoredSwarm { parts: vec![part], ..swarm::RestoredSwarm::default() };
    let one = world.start(client(), RestoredNode { swarm, ..RestoredNode::default() });
    world.hosts[one].files.insert(SwarmFile(1), bytes.clone());
    world.want(one, at);
    let held = |world: &World| world.hosts[one].node.swarm(0).client.unwrap().files[0].held;
    world.until(MINUTES, |world| held(world) >= 5_100);
    assert_eq!(world.hosts[one].node.swarm(0).client.unwrap().files[0].resumed, 5_000);
    // The coordinator is killed; another one takes its place, with its ledger.
    world.kill(source);
    let swarm = world.remembered(source);
    assert!(!swarm.ledger.is_empty());
    let restored = RestoredNode { swarm, listen: Some(at), ..RestoredNode::default() };
    let again = world.start_at(at, coordinator(), restored);
    world.serve(again, &bytes, chunk);
    world.until(MINUTES, |world| world.is_whole(one));
    assert_eq!(world.hosts[one].files[&SwarmFile(1)], bytes);
    let sent = world.hosts[again].node.swarm(0).coordinator.unwrap().sent;
    assert!(sent <= (4_900 * chunk) as u64, "what was there was sent again: {sent}");
    let complaint =
        |e: &Event| matches!(e, Event::Client(e) if format!("{e:?}").contains("Complaint"));
    assert!(!world.hosts[one].events.iter().any(complaint));
    for number in [source, one, again] {
        let (verified, checkpoints, damaged) = world.replay(number);
        assert_eq!((verified, damaged), (checkpoints, 0), "node {number}");
    }
}

#[test]
fn what_is_told_is_remembered_first_and_a_stopped_client_goes_on() {
    let bytes = noise(120_000);
    let mut world = World::new();
    let source = world.start(coordinator(), RestoredNode::default());
    world.serve(source, &bytes, 4_096);
    let at = world.hosts[source].at;
    let one = world.start(client(), RestoredNode::default());
    world.want(one, at);
    let held = |world: &World, number: usize| {
        world.hosts[number].node.swarm(0).client.unwrap().files[0].held
    };
    world.until(MINUTES, |world| held(world, one) >= 7);
    let before = held(&world, one);
    world.give(one, Input::Command(NodeCommand::Stop));
    world.until(MINUTES, |world| {
        world.hosts[source].node.swarm(1).coordinator.unwrap().swarm.clients == 0
    });
    let swarm = world.remembered(one);
    assert_eq!(swarm.parts[0].have.len(), before as usize);
    world.hosts[one].gone = true;
    let again = world.start(client(), RestoredNode { swarm, ..RestoredNode::default() });
    let file = world.hosts[one].files[&SwarmFile(1)].clone();
    world.hosts[again].files.insert(SwarmFile(1), file);
    world.want(again, at);
    world.until(MINUTES, |world| world.is_whole(again));
    assert_eq!(world.hosts[again].files[&SwarmFile(1)], bytes);
    let view = world.hosts[again].node.swarm(0).client.unwrap();
    assert_eq!(view.files[0].resumed, before);
    assert_eq!(view.from_source, (bytes.len() - before as usize * 4_096) as u64);
}

/// One node shares a file by the queue and coordinates a swarm, on one port.
#[test]
fn a_node_shares_and_coordinates_at_once() {
    let bytes = noise(50_000);
    let mut world = World::new();
    let both = world.start(coordinator(), RestoredNode::default());
    world.serve(both, &bytes, 4_096);
    let song = noise(300);
    world.hosts[both].shared.insert(FileIndex(0), song.clone());
    let (index, name, size) = (FileIndex(0), "song".into(), song.len() as u64);
    world.give(
        both,
        Input::Disk(DiskInput::Shared(FileInfo {
            index,
            name,
            size,
            sha1: None,
            key: FileKey(1),
            modified: None,
            tree: None,
            run: RunBit(false),
        })),
    );
    let visitor = world.stranger(both, "GET /get/0/song HTTP/1.1\r\nHost: x\r\n\r\n");
    let at = world.hosts[both].at;
    let one = world.start(client(), RestoredNode::default());
    world.want(one, at);
    world.until(MINUTES, |world| world.is_whole(one));
    assert_eq!(world.hosts[one].files[&SwarmFile(1)], bytes);
    assert!(world.told[&visitor].ends_with(&song), "the visitor has its song");
    assert!(world.told[&visitor].starts_with(b"HTTP/1.1 200"));
    // No peer gets a piece it was not sent for.
    let head = "GET /film HTTP/1.1\r\nRange: bytes=0-99\r\n\r\n";
    let thief = world.stranger(both, head);
    assert!(world.told[&thief].starts_with(b"HTTP/1.1 403"));
    let forged = "GET /film HTTP/1.1\r\nRange: bytes=0-99\r\nX-PDTP-Peer-Id: me\r\n\r\n";
    let thief = world.stranger(both, forged);
    assert!(world.told[&thief].starts_with(b"HTTP/1.1 403"));
    assert_eq!(world.hosts[both].node.swarm(0).coordinator.unwrap().refused, 2);
    let put = world.stranger(both, "PUT /film HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc");
    assert!(world.told[&put].starts_with(b"HTTP/1.1 405"));
    let (verified, checkpoints, damaged) = world.replay(both);
    assert_eq!((verified, damaged), (checkpoints, 0));
}

#[test]
fn what_cannot_be_had_is_answered() {
    let bytes = noise(10_000);
    let mut world = World::new();
    let source = world.start(coordinator(), RestoredNode::default());
    world.serve(source, &bytes, 4_096);
    let at = world.hosts[source].at;
    let answer = |world: &World, number: usize| world.hosts[number].answers.first().cloned();
    // No peer there.
    let lost = world.start(client(), RestoredNode::default());
    world.want(lost, "10.7.7.7:1".parse().unwrap());
    world.until(MINUTES, |world| answer(world, lost).is_some());
    let file = SwarmFile(1);
    assert_eq!(
        answer(&world, lost),
        Some(NodeAnswer::Swarm(swarm::SwarmAnswer::Unreachable { file }))
    );
    world.kill(lost);
    // A name the coordinator does not know.
    let other = world.start(client(), RestoredNode::default());
    let (url, coordinator) = (url_of("other"), vec![at]);
    world.tell(other, swarm::SwarmCommand::Want { file, url, coordinator, sha256: None });
    world.until(MINUTES, |world| answer(world, other).is_some());
    let Some(NodeAnswer::Swarm(swarm::SwarmAnswer::Refused { why, .. })) = answer(&world, other)
    else {
        panic!("{:?}", answer(&world, other))
    };
    assert!(why.contains("does not know"), "{why}");
    // Something else than was asked for: it does not get its name.
    let picky = world.start(client(), RestoredNode::default());
    let (url, coordinator) = (url_of("film"), vec![at]);
    let sha256 = Some(Hash([0; 32]));
    world.tell(picky, swarm::SwarmCommand::Want { file, url, coordinator, sha256 });
    world.until(MINUTES, |world| answer(world, picky).is_some());
    assert!(matches!(
        answer(&world, picky),
        Some(NodeAnswer::Swarm(swarm::SwarmAnswer::Other { .. }))
    ));
    let gone = |op: &NodeOp| matches!(op, NodeOp::Swarm(swarm::SwarmOp::PartGone(_)));
    assert!(!world.hosts[picky].ops.iter().any(gone));
    // A node without this part says so.
    world.tell(
        source,
        swarm::SwarmCommand::Want {
            file: SwarmFile(9),
            url: url_of("film"),
            coordinator: vec![at],
            sha256: None,
        },
    );
    assert!(matches!(
        world.hosts[source].answers.last(),
        Some(NodeAnswer::Swarm(swarm::SwarmAnswer::Refused { file: SwarmFile(9), .. }))
    ));
}
