//! SW-29: a source whose file changed or went, and a file that is another
//! one than was asked for.

use crate::swarm_support;

use servent_core::engine::{Engine as _, Fx};
use servent_core::swarm::client::{self, SwarmClient};
use servent_core::swarm::{Config, Event, Input};
use servent_core::time::Instant;
use servent_core::wire::pdtp::{Hash, PdtpMessage, SiteAnnouncement};
use swarm_support::{Swarm, hash, url};

const WHY: &str = "the file was changed at its source";

fn withdraw() -> Input {
    Input::Withdraw { url: url(), why: WHY.into() }
}

fn is_goodbye(message: &PdtpMessage) -> bool {
    matches!(message, PdtpMessage::TellInfo { size: None, gone: Some(why), .. } if why == WHY)
}

#[test]
fn sw_29_a_file_that_changed_ends_its_swarm_and_every_client_on_it_is_told() {
    let mut swarm = Swarm::new(Config::default(), 8);
    swarm.comes(1, 7_001);
    swarm.has(1, 0..4);
    swarm.comes(2, 7_002);
    swarm.wants(2);
    swarm.comes(3, 7_003);
    swarm.wants(3);
    swarm.comes(4, 7_004);
    let orders = swarm.orders(2);
    assert!(!orders.is_empty());
    swarm.heard(1);
    swarm.heard(3);
    swarm.input(withdraw());
    for client in [1, 2, 3] {
        let heard = swarm.heard(client);
        assert!(heard.iter().any(is_goodbye), "{client}: {heard:?}");
    }
    assert!(swarm.heard(4).is_empty(), "who is not on it hears nothing");
    assert_eq!(swarm.saw(|e| matches!(e, Event::Withdrawn { .. }).then_some(())).len(), 1);
    let blamed = swarm.saw(|e| matches!(e, Event::Blamed { .. }).then_some(()));
    assert!(blamed.is_empty(), "no client's fault");
    // Late words do no harm, and no client is told to fetch any more.
    swarm.got(2, &orders[0]);
    swarm.wants(3);
    swarm.secs(300);
    assert!(swarm.orders(2).is_empty() && swarm.orders(3).is_empty());
    swarm.say(4, PdtpMessage::AskInfo { url: url() });
    assert!(matches!(swarm.heard(4)[..], [PdtpMessage::TellInfo { size: None, gone: None, .. }]));
}

#[test]
fn sw_29_the_next_file_of_that_name_is_another_one() {
    let mut swarm = Swarm::new(Config::default(), 8);
    swarm.comes(1, 7_001);
    swarm.wants(1);
    swarm.input(withdraw());
    swarm.heard(1);
    let (hashes, sha256) = (vec![hash(7)].into(), Some(hash(9)));
    let spec = servent_core::swarm::FileSpec { url: url(), size: 50, chunk: 100, hashes, sha256 };
    swarm.input(Input::Serve(spec));
    swarm.say(1, PdtpMessage::AskInfo { url: url() });
    let heard = swarm.heard(1);
    let [PdtpMessage::TellInfo { size: Some(50), sha256, gone: None, .. }] = &heard[..] else {
        panic!("{heard:?}")
    };
    assert_eq!(*sha256, Some(hash(9)), "its digest is told before anything is fetched");
}

/// A client that wants the file, and what it says to what it is told.
fn told(client: &mut SwarmClient, message: PdtpMessage) -> Vec<client::Output> {
    let mut fx = Fx::new();
    client.handle(Instant::from_secs(1_000), client::Input::Message(message), &mut fx);
    fx.outputs().cloned().collect()
}

fn info(size: Option<u64>, sha256: Option<Hash>, gone: Option<&str>) -> PdtpMessage {
    let (url, chunk_size, gone) = (url(), size.map(|_| 100), gone.map(String::from));
    PdtpMessage::TellInfo {
        url,
        size,
        chunk_size,
        streaming: false,
        sha256,
        gone,
        site: SiteAnnouncement::default(),
    }
}

#[test]
fn sw_29_a_client_that_is_told_so_stops_and_passes_the_sentence_on() {
    let mut client =
        SwarmClient::new(client::Config { id: "c".into(), ..client::Config::default() });
    let (now, mut fx) = (Instant::from_secs(1_000), Fx::new());
    let have = (0..8).collect();
    client.handle(now, client::Input::Want { url: url(), chunk: 100, have: vec![0] }, &mut fx);
    client.handle(now, client::Input::Online { coordinator: [10, 0, 0, 1].into() }, &mut fx);
    told(&mut client, info(Some(800), None, None));
    let said = told(&mut client, info(None, None, Some(WHY)));
    assert_eq!(said, [client::Output::Withdrawn { url: url(), why: WHY.into() }]);
    assert_eq!(client.progress(&url()), None);
    // A client that has all of it has lost nothing.
    client.handle(now, client::Input::Want { url: url(), chunk: 100, have }, &mut fx);
    let said = told(&mut client, info(Some(800), Some(hash(1)), None));
    assert!(said.contains(&client::Output::Done { url: url() }), "{said:?}");
    assert_eq!(told(&mut client, info(None, None, Some(WHY))), []);
}
