//! The message of a panic in the browser.

use std::panic::PanicHookInfo;

use js_sys::Error;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::throw_val;

/// Runs when the module is instantiated.
#[wasm_bindgen(start)]
fn start() {
    std::panic::set_hook(Box::new(say));
}

/// Writes the message to the console, with the call stack, and throws it to the
/// caller of the module, as an error named `Panic`. The instance is unusable
/// afterwards.
fn say(panic: &PanicHookInfo<'_>) {
    let error = Error::new(&panic.to_string());
    error.set_name("Panic");
    web_sys::console::error_1(&error);
    throw_val(error.into());
}
