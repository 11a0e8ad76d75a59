//! The class of a recorded world.

use servent_core::trace::pcapng::Exporter;
use servent_core::trace::reel::Reel;
use servent_core::trace::{qlog, tape};
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use super::lab::TraceLab;
use crate::board::board_class;
use crate::common::json;

board_class! {
    /// A trace being re-executed.
    Tape over TraceLab
}

#[wasm_bindgen]
impl Tape {
    /// What the file of a simulated world says, `{scenario, claim}`, for the
    /// class that can run it; nothing for the trace of a servent.
    #[must_use]
    pub fn world(bytes: &[u8]) -> Option<String> {
        let mut reel = Reel::new();
        reel.append(bytes);
        let (scenario, claim) = (json(&reel.world()?), json(&reel.claim()));
        Some([r#"{"scenario":"#, &scenario, r#","claim":"#, &claim, "}"].concat())
    }

    /// Over a `.sqlog` file.
    ///
    /// # Errors
    /// When there is not one line of ours in it.
    #[wasm_bindgen(js_name = fromTrace)]
    pub fn from_trace(bytes: &[u8]) -> Result<Tape, JsError> {
        let mut reel = Reel::new();
        reel.append(bytes);
        if let Some(version) = reel.report().unknown_version {
            let known = tape::VERSION;
            let text =
                format!("this is a tape of version {version}; this page reads version {known}");
            return Err(JsError::new(&text));
        }
        if reel.start().is_none() && reel.count() == 0 && !bytes.is_empty() {
            return Err(JsError::new("this file is not a trace of a servent"));
        }
        Ok(Self { inner: TraceLab::new(reel) })
    }

    /// More of a growing trace.
    pub fn append(&mut self, bytes: &[u8]) {
        self.inner.append(bytes);
    }

    /// Its connections as a pcapng capture.
    #[wasm_bindgen(js_name = exportPcapng)]
    #[must_use]
    pub fn export_pcapng(&self) -> Vec<u8> {
        let mut exporter = Exporter::new();
        for line in self.inner.lines() {
            if let Ok(qlog::Read::Line(line)) = qlog::read(line.as_bytes()) {
                exporter.feed(Ok(*line));
            }
        }
        exporter.finish()
    }
}
