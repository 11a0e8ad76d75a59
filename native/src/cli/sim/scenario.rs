//! Which scenario is meant: a preset, a drawn one, or a file.

use std::path::{Path, PathBuf};

use serde_json::json;
use servent_core::swarm::SwarmPolicy;
use servent_sim::registry::{About, PlayedRun, ProtocolId, RunEnd, TaggedScenario};

use super::print;
use crate::exit::{Exit, Failure};

/// What the names of random worlds begin with.
const RANDOM: &str = "random-";

/// How a run of the scenario with a name is judged.
pub(super) fn end(name: &str, settle: bool) -> RunEnd {
    match (name.starts_with(RANDOM), settle) {
        (true, _) => RunEnd::Drawn,
        (false, true) => RunEnd::Settled,
        (false, false) => RunEnd::Open,
    }
}

/// A preset, or a scenario generated from its seed.
pub(super) fn named(name: &str, seed: Option<u64>) -> Option<TaggedScenario> {
    match name.strip_prefix(RANDOM) {
        Some(worlds) => TaggedScenario::draw(worlds, seed.unwrap_or(1)),
        None => TaggedScenario::preset(name),
    }
}

/// The same scenario with another policy, if it is a swarm.
pub(super) fn under(mut scenario: TaggedScenario, policy: Option<SwarmPolicy>) -> TaggedScenario {
    if let (ProtocolId::Swarm, Some(policy)) = (scenario.protocol, policy)
        && let Some(swarm) = scenario.scenario.get_mut("swarm")
    {
        swarm["policy"] = json!(policy);
    }
    scenario
}

/// Runs a scenario that was read before.
pub(super) fn play(scenario: &TaggedScenario, seed: u64, end: RunEnd) -> PlayedRun {
    scenario.play(seed, end).unwrap_or_else(|wrong| panic!("{wrong}"))
}

pub(super) fn list(json: bool) -> Result<(), Failure> {
    for preset in TaggedScenario::presets() {
        if json {
            print(format!("{}\n", serde_json::to_string(&preset).unwrap_or_default()))?;
        } else {
            let About { id, title, text } = preset.about();
            print(format!("{id:<16} {title}\n{:<16} {text}\n", ""))?;
        }
    }
    if !json {
        print(format!("{:<16} drawn worlds, another one for every seed\n", drawn().join(" ")))?;
    }
    Ok(())
}

/// The names of all random worlds.
fn drawn() -> Vec<String> {
    let names = ProtocolId::listed().flat_map(ProtocolId::drawn);
    names.map(|name| [RANDOM, name].concat()).collect()
}

pub(super) fn find(name: &str, seed: Option<u64>) -> Result<TaggedScenario, Failure> {
    if let Some(scenario) = named(name, seed) {
        return Ok(scenario);
    }
    let path = PathBuf::from(name);
    if !path.exists() && !name.contains(['/', '.']) {
        let presets = TaggedScenario::presets().map(|preset| preset.about().id.to_owned());
        let known: Vec<String> = presets.chain(drawn()).collect();
        return Err(Failure::usage(format!("there is no preset {name}"))
            .next(format!("choose one of {}, or name a file", known.join(", "))));
    }
    read(&path)
}

fn read(path: &Path) -> Result<TaggedScenario, Failure> {
    let bytes = std::fs::read(path).map_err(|e| Failure::file("read", path, &e))?;
    let text = String::from_utf8(bytes).map_err(|_| "not a scenario: it is no text".to_owned());
    let parsed = text.and_then(|text| TaggedScenario::parse(&text).map_err(|why| why.to_string()));
    parsed.map_err(|what| {
        Failure::new(Exit::Foreign, format!("{}: {what}", path.display()))
            .next("`servent sim rush-hour --show` prints one that works")
    })
}
