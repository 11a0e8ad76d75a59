//! A scenario of any protocol, as data with the name of its protocol.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde::Serialize;
use serde_json::{Map, Value};
use servent_core::choose::Choose;

use super::limits::Limits;
use super::played::{PlayedRun, RunEnd};
use super::protocol::{About, BegunWalk, RegisteredProtocol, SmallWorld};
use super::untagged::Untagged;
use super::{ProtocolId, TAG};
use crate::error::{self, ScenarioError, ScenarioMistake};

/// A scenario with the name of its protocol; in JSON the scenario's keys and
/// `"protocol": "…"`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaggedScenario {
    /// Its protocol.
    pub protocol: ProtocolId,
    /// The scenario, every field.
    #[serde(flatten)]
    pub scenario: Map<String, Value>,
}

impl TaggedScenario {
    /// A scenario of a protocol.
    #[must_use]
    pub fn new<P: RegisteredProtocol>(scenario: &P::Scenario) -> Option<Self> {
        let protocol = ProtocolId::named(P::NAME)?;
        let Ok(Value::Object(scenario)) = serde_json::to_value(scenario) else { return None };
        Some(Self { protocol, scenario })
    }

    /// Parses a scenario file and checks that a world can be made from it.
    ///
    /// # Errors
    /// When the text is not a scenario, does not name its protocol, or no world
    /// can be made from it.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let Tag { protocol } = error::read(text)?;
        Self::parse_as(protocol, text)
    }

    /// The same for a text that may not name its protocol.
    ///
    /// # Errors
    /// When the text is not a scenario of it, or no world can be made from it.
    pub fn parse_as(protocol: ProtocolId, text: &str) -> Result<Self, ScenarioError> {
        for_protocol!(protocol, parse(text))
    }

    /// All presets of the listed protocols.
    pub fn presets() -> impl Iterator<Item = Self> {
        ProtocolId::listed().flat_map(Self::presets_of)
    }

    /// The presets of one protocol.
    #[must_use]
    pub fn presets_of(protocol: ProtocolId) -> Vec<Self> {
        fn presets<P: RegisteredProtocol>() -> Vec<TaggedScenario> {
            P::presets().iter().filter_map(TaggedScenario::new::<P>).collect()
        }
        for_protocol!(protocol, presets())
    }

    /// A preset by its id, those of examples too.
    #[must_use]
    pub fn preset(id: &str) -> Option<Self> {
        let all = ProtocolId::ALL.iter().flat_map(|protocol| Self::presets_of(*protocol));
        let small = Self::small_worlds().into_iter().map(|(scenario, _)| scenario);
        all.chain(small).find(|preset| preset.about().id == id)
    }

    /// The small worlds that are explored completely, with their limits.
    #[must_use]
    pub fn small_worlds() -> Vec<(Self, Limits)> {
        fn worlds<P: RegisteredProtocol>() -> Vec<(TaggedScenario, Limits)> {
            let tagged = |world: SmallWorld<P::Scenario>| {
                Some((TaggedScenario::new::<P>(&world.scenario)?, world.limits))
            };
            P::small_worlds().into_iter().filter_map(tagged).collect()
        }
        ProtocolId::ALL.iter().flat_map(|id| for_protocol!(*id, worlds())).collect()
    }

    /// The random world with this name and seed.
    #[must_use]
    pub fn draw(name: &str, seed: u64) -> Option<Self> {
        ProtocolId::ALL.iter().find_map(|protocol| for_protocol!(*protocol, draw(name, seed)))
    }

    /// The same with every field; `None` when no world can be made from it.
    pub(crate) fn whole(&self) -> Option<Self> {
        fn whole<P: RegisteredProtocol>(tagged: &TaggedScenario) -> Option<TaggedScenario> {
            TaggedScenario::new::<P>(&tagged.read::<P>().ok()?)
        }
        for_protocol!(self.protocol, whole(self))
    }

    /// Its description.
    #[must_use]
    pub fn about(&self) -> About<'_> {
        let text = |key| self.scenario.get(key).and_then(Value::as_str).unwrap_or_default();
        About { id: text("id"), title: text("title"), text: text("text") }
    }

    /// The seed it names.
    ///
    /// # Errors
    /// When it is not a scenario of its protocol.
    pub fn seed(&self) -> Result<u64, ScenarioError> {
        fn seed<P: RegisteredProtocol>(tagged: &TaggedScenario) -> Result<u64, ScenarioError> {
            Ok(*P::parts(&mut tagged.read::<P>()?).seed)
        }
        for_protocol!(self.protocol, seed(self))
    }

    /// Runs it with a seed to its end, watched by the oracles.
    ///
    /// # Errors
    /// When no world can be made from it.
    pub fn play(&self, seed: u64, end: RunEnd) -> Result<PlayedRun, ScenarioError> {
        for_protocol!(self.protocol, play(self, seed, end))
    }

    /// A walk over every order of its events; `None` while worlds of its protocol
    /// cannot be explored.
    pub fn walk(&self, limits: Limits) -> Option<BegunWalk> {
        fn begun<P: RegisteredProtocol>(
            tagged: &TaggedScenario,
            limits: Limits,
        ) -> Option<BegunWalk> {
            match tagged.read::<P>() {
                Ok(scenario) => P::walk(&scenario, limits),
                Err(wrong) => Some(Err(wrong)),
            }
        }
        for_protocol!(self.protocol, begun(self, limits))
    }

    /// The limits of its exploration: its own where it is a small world.
    #[must_use]
    pub fn limits(&self) -> Limits {
        let id = self.about().id;
        let own = Self::small_worlds().into_iter().find(|(small, _)| small.about().id == id);
        own.map(|(_, limits)| limits).unwrap_or_default()
    }

    /// The scenario of its protocol.
    ///
    /// # Errors
    /// When it is not one, or no world can be made from it.
    pub fn read<P: RegisteredProtocol>(&self) -> Result<P::Scenario, ScenarioError> {
        let value = Value::Object(self.scenario.clone());
        let scenario = serde_json::from_value(value).map_err(|why| text(why.to_string()))?;
        P::check(&scenario)?;
        Ok(scenario)
    }
}

/// The tag of a file, whatever else is in it.
struct Tag {
    protocol: ProtocolId,
}

impl<'de> serde::Deserialize<'de> for Tag {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        let names = || {
            let names: Vec<&str> = ProtocolId::listed().map(ProtocolId::name).collect();
            names.join(", ")
        };
        let fields = Map::<String, Value>::deserialize(d)?;
        let name = fields.get(TAG).ok_or_else(|| {
            let known = names();
            D::Error::custom(format!(
                "the scenario does not name its protocol: add \"{TAG}\": \"…\", one of {known}"
            ))
        })?;
        let protocol = name
            .as_str()
            .and_then(ProtocolId::named)
            .ok_or_else(|| D::Error::custom(format!("`{TAG}`: {name} is none of {}", names())))?;
        Ok(Self { protocol })
    }
}

const fn text(why: String) -> ScenarioError {
    ScenarioError { place: String::new(), why: ScenarioMistake::Text(why) }
}

fn parse<P: RegisteredProtocol>(text: &str) -> Result<TaggedScenario, ScenarioError> {
    let Untagged::<P::Scenario>(scenario) = error::read(text)?;
    P::check(&scenario)?;
    TaggedScenario::new::<P>(&scenario)
        .ok_or_else(|| self::text(String::from("the scenario has no JSON form")))
}

fn draw<P: RegisteredProtocol>(name: &str, seed: u64) -> Option<TaggedScenario> {
    let worlds = P::DRAWN.iter().find(|worlds| worlds.name == name)?;
    TaggedScenario::new::<P>(&(worlds.draw)(&mut Choose::random(seed), seed))
}

fn play<P: RegisteredProtocol>(
    tagged: &TaggedScenario,
    seed: u64,
    end: RunEnd,
) -> Result<PlayedRun, ScenarioError> {
    let mut scenario = tagged.read::<P>()?;
    *P::parts(&mut scenario).seed = seed;
    Ok(P::play(&scenario, end))
}
