//! What strangers can make a node connect to.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use servent_core::engine::{Effect, Engine as _, Fx, FxOf};
use servent_core::node::swarm::{self, SwarmFile};
use servent_core::node::{
    Config, ConnInput, ConnOutput, DialError, DownloadSource, FetchCommand, Get, Input, Node,
    NodeAnswer, NodeCommand, Output, RestoredNode,
};
use servent_core::swarm::client;
use servent_core::time::{Duration, Instant};
use servent_core::wire::pdtp::url_of;

/// A client of a coordinator that names targets, none of which is there.
struct Misled {
    node: Node,
    now: Instant,
    coordinator: SocketAddr,
    line: Option<servent_core::id::ConnId>,
    dials: BTreeMap<SocketAddr, usize>,
}

impl Misled {
    fn new() -> Self {
        let client = client::Config { id: "".into(), ..client::Config::default() };
        let swarm = swarm::Config { client: Some(client), ..swarm::Config::default() };
        let node = Node::new(Config { swarm, ..Config::default() }, 7);
        let coordinator = "80.1.2.3:6086".parse().unwrap();
        let (now, dials) = (Instant::from_secs(1), BTreeMap::new());
        let mut misled = Self { node, now, coordinator, line: None, dials };
        misled.give(Input::Start(RestoredNode::default()));
        let (file, url, coordinator) = (SwarmFile(1), url_of("film"), vec![coordinator]);
        let want = swarm::SwarmCommand::Want { file, url, coordinator, sha256: None };
        misled.give(Input::Command(NodeCommand::Swarm(want)));
        misled
            .hear(r#"["tell_info",{"url":"pdtp://swarm/film","size":16384000,"chunkSize":16384}]"#);
        misled
    }

    fn give(&mut self, input: Input) {
        let mut inputs = vec![input];
        while let Some(input) = inputs.pop() {
            let mut fx: FxOf<Node> = Fx::new();
            self.node.handle(self.now, input, &mut fx);
            for effect in fx.drain() {
                let Effect::Output(Output::Connection(conn, ConnOutput::Dial { to })) = effect
                else {
                    continue;
                };
                if to == self.coordinator {
                    self.line = Some(conn);
                    let local = "81.9.9.9:40000".parse().unwrap();
                    inputs.push(Input::Connection(conn, ConnInput::Dialed { local }));
                } else {
                    *self.dials.entry(to).or_default() += 1;
                    inputs.push(Input::Connection(
                        conn,
                        ConnInput::DialFailed { why: DialError::Unreachable },
                    ));
                }
            }
        }
    }

    /// The coordinator says something.
    fn hear(&mut self, text: &str) {
        let length = u16::try_from(text.len()).unwrap().to_be_bytes();
        let data = [&length[..], text.as_bytes()].concat();
        self.give(Input::Connection(self.line.unwrap(), ConnInput::Bytes { data }));
    }

    /// 350 orders within seven seconds, as one did.
    fn ordered(&mut self, target: impl Fn(usize) -> (String, u16)) {
        for n in 0..350 {
            let ((peer, port), from) = (target(n), n % 1_000 * 16_384);
            let range = format!(r#"{{"min":{from},"max":{}}}"#, from + 16_383);
            self.hear(&format!(
                r#"["transfer",{{"peer":"{peer}","port":{port},"method":"GET","url":"pdtp://swarm/film","range":{range},"peer_id":"other"}}]"#
            ));
            self.now += Duration::from_millis(20);
        }
    }

    fn dials(&self) -> usize {
        self.dials.values().sum()
    }
}

#[test]
fn a_coordinator_cannot_have_us_knock_at_one_target_again_and_again() {
    let mut misled = Misled::new();
    misled.ordered(|_| ("81.1.2.3".into(), 6_346));
    assert!((1..=12).contains(&misled.dials()), "{:?}", misled.dials);
}

#[test]
fn nor_at_one_port_of_an_address_after_the_other() {
    let mut misled = Misled::new();
    misled.ordered(|n| ("81.1.2.3".into(), 2_000 + n as u16));
    assert!((1..=36).contains(&misled.dials()), "{}", misled.dials());
}

#[test]
fn nor_at_a_service_or_within_our_own_network() {
    for (peer, port) in
        [("81.1.2.3", 22), ("81.1.2.3", 25), ("127.0.0.1", 6_346), ("10.0.0.1", 6_346)]
    {
        let mut misled = Misled::new();
        misled.ordered(|_| (peer.into(), port));
        assert_eq!(misled.dials(), 0, "{peer}:{port}");
    }
}

/// Downloads from a public server that redirects all of them; who is dialed
/// besides the server. No server is there.
fn redirected(downloads: usize, to: impl Fn(usize) -> SocketAddr) -> BTreeMap<SocketAddr, usize> {
    let mut node = Node::new(Config::default(), 7);
    let server: SocketAddr = "80.1.2.3:6346".parse().unwrap();
    let mut dials = BTreeMap::new();
    let mut inputs = vec![Input::Start(RestoredNode::default())];
    inputs.extend((0..downloads).map(|n| {
        let source = DownloadSource {
            at: server,
            target: format!("/get/{n}/a"),
            host: "80.1.2.3:6346".into(),
        };
        let name = format!("file-{n}");
        Input::Command(NodeCommand::Fetch(FetchCommand::Get(Get {
            name,
            sha1: None,
            sources: vec![source],
        })))
    }));
    inputs.reverse();
    let (mut now, mut sent) = (Instant::from_secs(1), 0);
    let end = now + Duration::from_secs(60);
    loop {
        let mut fx: FxOf<Node> = Fx::new();
        match inputs.pop() {
            Some(input) => node.handle(now, input, &mut fx),
            None => match node.poll_timeout().filter(|(at, _)| *at < end) {
                Some((at, _)) => {
                    now = at.max(now);
                    node.handle_timeout(now, &mut fx);
                }
                None => return dials,
            },
        }
        for effect in fx.drain() {
            match effect {
                Effect::Output(Output::Connection(conn, ConnOutput::Dial { to }))
                    if to == server =>
                {
                    let local = "81.9.9.9:40000".parse().unwrap();
                    inputs.push(Input::Connection(conn, ConnInput::Dialed { local }));
                }
                Effect::Output(Output::Connection(conn, ConnOutput::Dial { to })) => {
                    *dials.entry(to).or_default() += 1;
                    inputs.push(Input::Connection(
                        conn,
                        ConnInput::DialFailed { why: DialError::Unreachable },
                    ));
                }
                Effect::Output(Output::Connection(conn, ConnOutput::Write { .. })) => {
                    let data = b"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n";
                    inputs.push(Input::Connection(conn, ConnInput::Bytes { data: data.to_vec() }));
                }
                Effect::Output(Output::Answer(NodeAnswer::Moved { fetch, from, .. })) => {
                    let at = to(sent);
                    sent += 1;
                    let to = Some(DownloadSource { at, target: "/x".into(), host: at.to_string() });
                    inputs.push(Input::Command(NodeCommand::Fetch(FetchCommand::Moved {
                        fetch,
                        from,
                        to,
                    })));
                }
                _ => {}
            }
        }
    }
}

#[test]
fn a_redirect_leads_to_no_service_and_not_into_our_own_network() {
    for to in ["81.1.2.3:22", "81.1.2.3:25", "81.1.2.3:443", "127.0.0.1:80", "10.0.0.1:6346"] {
        let dials = redirected(20, |_| to.parse().unwrap());
        assert!(dials.is_empty(), "{dials:?}");
    }
    // Web servers may be at their usual port.
    let web = "81.1.2.3:80".parse().unwrap();
    assert!(redirected(1, |_| web).contains_key(&web));
}

#[test]
fn redirects_knock_at_no_server_again_and_again() {
    let one = "81.1.2.3:6346".parse().unwrap();
    let dials = redirected(200, |_| one);
    assert!((1..=13).contains(&dials[&one]), "{dials:?}");
    let ports = redirected(200, |n| ([81, 1, 2, 3], 2_000 + n as u16).into());
    assert!((1..=37).contains(&ports.values().sum::<usize>()), "{ports:?}");
}
