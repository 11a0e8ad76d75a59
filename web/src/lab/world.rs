//! The world of any registered protocol, as a class.

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

use servent_core::trace::tape::Checkpoint;
use servent_sim::registry::{About, ProtocolId};
use servent_sim::{RegisteredProtocol, for_protocol, meet, queue, routing, swarm, unicast};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsError, JsValue};

use super::run::Watching;
use super::{Lab, Preset, Run};
use crate::meet::Meet;
use crate::queue::Queue;
use crate::routing::Routing;
use crate::swarm::Swarm;
use crate::unicast::Unicast;
use crate::value::{QueryResult, give, refused, take};

/// A lab, shared by the classes that look at it.
pub(crate) type Shared<P> = Rc<RefCell<Lab<P>>>;

/// A simulated world of any protocol.
#[wasm_bindgen]
pub struct World {
    run: Rc<RefCell<dyn Watching>>,
    /// The same lab, for the class of its protocol.
    lab: Rc<dyn Any>,
}

#[wasm_bindgen]
impl World {
    /// The names of all protocols, examples too.
    #[must_use]
    pub fn protocols() -> Vec<String> {
        ProtocolId::ALL.iter().map(|id| id.name().to_owned()).collect()
    }

    /// All presets of a protocol.
    ///
    /// # Errors
    /// When there is no such protocol.
    #[wasm_bindgen(unchecked_return_type = "Preset<any>[]")]
    pub fn presets(protocol: &str) -> QueryResult {
        for_protocol!(named(protocol)?, presets())
    }

    /// The world of a protocol's scenario.
    ///
    /// # Errors
    /// A sentence that says what is invalid in it.
    #[wasm_bindgen(js_name = fromScenario)]
    pub fn from_scenario(
        protocol: &str,
        #[wasm_bindgen(unchecked_param_type = "Partial<Scenario>")] scenario: JsValue,
    ) -> Result<World, JsError> {
        for_protocol!(named(protocol)?, world(scenario, None))
    }

    /// The world of a file, see `Tape.world`. Its checkpoint is verified once
    /// the run is known up to the end of the file.
    ///
    /// # Errors
    /// A sentence that says what is invalid in it.
    #[wasm_bindgen(js_name = fromWorld)]
    pub fn from_world(
        protocol: &str,
        #[wasm_bindgen(unchecked_param_type = "Scenario")] scenario: JsValue,
        #[wasm_bindgen(unchecked_param_type = "Checkpoint | null")] claim: JsValue,
    ) -> Result<World, JsError> {
        let claim: Option<Checkpoint> = take(claim)?;
        for_protocol!(named(protocol)?, world(scenario, claim))
    }

    /// The interface common to all runs.
    #[must_use]
    pub fn run(&self) -> Run {
        Run::new(Rc::clone(&self.run))
    }

    /// What only worlds of servents and their queues answer.
    ///
    /// # Errors
    /// When it is a world of another protocol.
    pub fn queue(&self) -> Result<Queue, JsError> {
        Ok(Queue { lab: self.shared::<queue::Queue>()? })
    }

    /// What only overlays answer.
    ///
    /// # Errors
    /// When it is a world of another protocol.
    pub fn routing(&self) -> Result<Routing, JsError> {
        Ok(Routing { lab: self.shared::<routing::Routing>()? })
    }

    /// What only worlds of datagrams answer.
    ///
    /// # Errors
    /// When it is a world of another protocol.
    pub fn unicast(&self) -> Result<Unicast, JsError> {
        Ok(Unicast { lab: self.shared::<unicast::Unicast>()? })
    }

    /// What only swarms answer.
    ///
    /// # Errors
    /// When it is a world of another protocol.
    pub fn swarm(&self) -> Result<Swarm, JsError> {
        Ok(Swarm { lab: self.shared::<swarm::Swarm>()? })
    }

    /// What only meetings answer.
    ///
    /// # Errors
    /// When it is a world of another protocol.
    pub fn meet(&self) -> Result<Meet, JsError> {
        Ok(Meet { lab: self.shared::<meet::Meet>()? })
    }
}

impl World {
    fn shared<P: RegisteredProtocol>(&self) -> Result<Shared<P>, JsError> {
        let lab = Rc::clone(&self.lab).downcast::<RefCell<Lab<P>>>();
        lab.map_err(|_| refused(format!("this is no world of {}", P::NAME)))
    }
}

fn named(protocol: &str) -> Result<ProtocolId, JsError> {
    ProtocolId::named(protocol).ok_or_else(|| refused(format!("there is no protocol {protocol}")))
}

fn presets<P: RegisteredProtocol>() -> QueryResult {
    let preset = |scenario: P::Scenario| {
        let About { id, title, text } = P::about(&scenario);
        let [id, title, text] = [id, title, text].map(str::to_owned);
        Preset { id, title, text, scenario }
    };
    give(&P::presets().into_iter().map(preset).collect::<Vec<_>>())
}

fn world<P: RegisteredProtocol>(
    scenario: JsValue,
    claim: Option<Checkpoint>,
) -> Result<World, JsError> {
    let lab: Shared<P> = Rc::new(RefCell::new(Lab::new(take(scenario)?, claim)?));
    Ok(World { run: Rc::<RefCell<Lab<P>>>::clone(&lab), lab })
}
