//! A panic is a bug: say where it is, then let the page show it.

use std::sync::Once;

use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = console)]
    fn error(message: &str);
}

/// From now on a panic is written to the console before the module stops.
pub(crate) fn report() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| std::panic::set_hook(Box::new(|info| error(&info.to_string()))));
}
