//! Which scenario is meant: a preset, a drawn one, or a file.

use std::error::Error;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;
use servent_core::choose::Choose;
use servent_core::swarm::SwarmPolicy;

use super::{Run, print, queue, routing, swarm, unicast};
use crate::exit::{Exit, Failure};

/// How a run is judged at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunEnd {
    /// It may be in the middle of something.
    Open,
    /// It goes on until everything is done.
    Settled,
    /// Drawn worlds have a last part without faults: by its end everything must
    /// be done.
    Drawn,
}

impl RunEnd {
    /// Of the scenario of that name.
    pub(super) fn for_scenario(name: &str, settle: bool) -> Self {
        match (name.starts_with("random-"), settle) {
            (true, _) => Self::Drawn,
            (false, true) => Self::Settled,
            (false, false) => Self::Open,
        }
    }
}

/// A scenario for one of the worlds.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub(super) enum Scenario {
    /// Servents and their queues.
    Queue(Box<servent_sim::queue::Scenario>),
    /// Nodes and their datagrams.
    Unicast(Box<servent_sim::unicast::Scenario>),
    /// Routers and the overlay they form.
    Routing(Box<servent_sim::routing::Scenario>),
    /// Clients that share a file.
    Swarm(Box<servent_sim::swarm::Scenario>),
}

/// A preset as it is listed.
pub(super) struct Shown<'a> {
    pub(super) id: &'a str,
    pub(super) title: &'a str,
    pub(super) text: &'a str,
}

impl Scenario {
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let queue = servent_sim::queue::presets::all().map(|s| Self::Queue(Box::new(s)));
        let unicast = servent_sim::unicast::presets::all().map(|s| Self::Unicast(Box::new(s)));
        let routing = servent_sim::routing::presets::all().map(|s| Self::Routing(Box::new(s)));
        let swarm = servent_sim::swarm::presets::all().into_iter();
        let swarm = swarm.map(|s| Self::Swarm(Box::new(s)));
        queue.chain(unicast).chain(routing).chain(swarm)
    }

    /// A preset, or a scenario generated from its seed.
    pub(super) fn named(name: &str, seed: Option<u64>) -> Option<Self> {
        let seed = seed.unwrap_or(1);
        let choose = &mut Choose::random(seed);
        let queue = |scenario| Some(Self::Queue(Box::new(scenario)));
        match name {
            "random-queue" => queue(servent_sim::queue::random::draw(choose, seed)),
            "random-restarts" => queue(servent_sim::queue::random::draw_restarts(choose, seed)),
            "random-site" => queue(servent_sim::queue::random::draw_site(choose, seed)),
            "random-divided" => queue(servent_sim::queue::random::draw_divided(choose, seed)),
            "random-unicast" => {
                let scenario = servent_sim::unicast::random::draw(choose, seed);
                Some(Self::Unicast(Box::new(scenario)))
            }
            "random-routing" => {
                let scenario = servent_sim::routing::random::draw(choose, seed);
                Some(Self::Routing(Box::new(scenario)))
            }
            "random-swarm" => {
                let scenario = servent_sim::swarm::random::draw(choose, seed);
                Some(Self::Swarm(Box::new(scenario)))
            }
            _ => Self::all().find(|scenario| scenario.shown().id == name),
        }
    }

    fn parse(text: &str) -> Result<Self, Box<dyn Error>> {
        let tree: Value = serde_json::from_str(text)?;
        if tree.get("shape").is_some() {
            let scenario = servent_sim::routing::Scenario::parse(text)?;
            return Ok(Self::Routing(Box::new(scenario)));
        }
        if tree.get("pieces").is_some() {
            return Ok(Self::Swarm(Box::new(servent_sim::swarm::Scenario::parse(text)?)));
        }
        if tree.get("nodes").is_some() || tree.get("script").is_some() {
            let scenario = servent_sim::unicast::Scenario::parse(text)?;
            return Ok(Self::Unicast(Box::new(scenario)));
        }
        Ok(Self::Queue(Box::new(servent_sim::queue::Scenario::parse(text)?)))
    }

    pub(super) fn shown(&self) -> Shown<'_> {
        match self {
            Self::Queue(s) => Shown { id: &s.id, title: &s.title, text: &s.text },
            Self::Unicast(s) => Shown { id: &s.id, title: &s.title, text: &s.text },
            Self::Routing(s) => Shown { id: &s.id, title: &s.title, text: &s.text },
            Self::Swarm(s) => Shown { id: &s.id, title: &s.title, text: &s.text },
        }
    }

    pub(super) fn seed(&self) -> u64 {
        match self {
            Self::Queue(s) => s.seed,
            Self::Unicast(s) => s.seed,
            Self::Routing(s) => s.seed,
            Self::Swarm(s) => s.seed,
        }
    }

    pub(super) fn play(&self, seed: u64, end: RunEnd) -> Run {
        match self {
            Self::Queue(s) => {
                queue::play(servent_sim::queue::Scenario { seed, ..(**s).clone() }, end)
            }
            Self::Unicast(s) => {
                unicast::play(servent_sim::unicast::Scenario { seed, ..(**s).clone() }, end)
            }
            Self::Routing(s) => {
                routing::play(servent_sim::routing::Scenario { seed, ..(**s).clone() })
            }
            Self::Swarm(s) => {
                swarm::play(&servent_sim::swarm::Scenario { seed, ..(**s).clone() }, end)
            }
        }
    }

    /// The same scenario with another policy, if it is a swarm.
    pub(super) fn under(mut self, policy: Option<SwarmPolicy>) -> Self {
        if let (Self::Swarm(scenario), Some(policy)) = (&mut self, policy) {
            scenario.swarm.policy = policy;
        }
        self
    }
}

pub(super) fn list(json: bool) -> Result<(), Failure> {
    for preset in Scenario::all() {
        if json {
            print(format!("{}\n", serde_json::to_string(&preset).unwrap_or_default()))?;
        } else {
            let Shown { id, title, text } = preset.shown();
            print(format!("{id:<16} {title}\n{:<16} {text}\n", ""))?;
        }
    }
    Ok(())
}

pub(super) fn find(name: &str, seed: Option<u64>) -> Result<Scenario, Failure> {
    if let Some(scenario) = Scenario::named(name, seed) {
        return Ok(scenario);
    }
    let path = PathBuf::from(name);
    if !path.exists() && !name.contains(['/', '.']) {
        let known: Vec<String> = Scenario::all().map(|s| s.shown().id.to_owned()).collect();
        return Err(Failure::usage(format!("there is no preset {name}"))
            .next(format!("choose one of {}, or name a file", known.join(", "))));
    }
    read(&path)
}

fn read(path: &Path) -> Result<Scenario, Failure> {
    let bytes = std::fs::read(path).map_err(|e| Failure::file("read", path, &e))?;
    let text = String::from_utf8(bytes).map_err(|_| "not a scenario: it is no text".into());
    text.and_then(|text| Scenario::parse(&text)).map_err(|what| {
        Failure::new(Exit::Foreign, format!("{}: {what}", path.display()))
            .next("`servent sim rush-hour --show` prints one that works")
    })
}
