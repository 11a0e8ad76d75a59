//! Reading a file as a stream.

use futures::future::{AbortHandle, Abortable};
use futures::stream::{self, Stream, TryStreamExt as _};
use js_sys::{Function, Reflect, Uint8Array};
use servent_core::trace::player::Player;
use servent_core::trace::players::Players;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{AbortSignal, ReadableStream, ReadableStreamDefaultReader};

/// What can be read piece by piece.
pub(super) trait Growing: Default {
    fn append(&mut self, bytes: &[u8]);
}

impl Growing for Player {
    fn append(&mut self, bytes: &[u8]) {
        self.append(bytes);
    }
}

impl Growing for Players {
    fn append(&mut self, bytes: &[u8]) {
        self.append(bytes);
    }
}

/// The recording in a stream, or all of them, and its bytes.
pub(super) async fn player<T: Growing>(
    stream: ReadableStream,
    progress: Option<Function>,
    signal: Option<AbortSignal>,
) -> Result<(T, u64), JsValue> {
    let reader: ReadableStreamDefaultReader = stream.get_reader().unchecked_into();
    let reading = read(chunks(&reader), progress);
    let Some(signal) = signal else { return reading.await };
    if signal.aborted() {
        return Err(given_up(&reader, &signal).await);
    }
    let (handle, registration) = AbortHandle::new_pair();
    let abort = Closure::once_into_js(move || handle.abort());
    signal.add_event_listener_with_callback("abort", abort.unchecked_ref())?;
    match Abortable::new(reading, registration).await {
        Ok(done) => done,
        Err(_) => Err(given_up(&reader, &signal).await),
    }
}

/// Cancels the stream; returns the reason given by the signal.
async fn given_up(reader: &ReadableStreamDefaultReader, signal: &AbortSignal) -> JsValue {
    // An error of the stream no longer matters.
    let _ = JsFuture::from(reader.cancel()).await;
    signal.reason()
}

async fn read<T: Growing>(
    chunks: impl Stream<Item = Result<Uint8Array, JsValue>>,
    progress: Option<Function>,
) -> Result<(T, u64), JsValue> {
    let start = (T::default(), 0);
    chunks
        .try_fold(start, |(mut player, read), chunk| {
            player.append(&chunk.to_vec());
            let read = read + u64::from(chunk.length());
            let told = progress.as_ref().map_or(Ok(JsValue::UNDEFINED), |progress| {
                progress.call1(&JsValue::UNDEFINED, &JsValue::from(read as f64))
            });
            async move { told.map(|_| (player, read)) }
        })
        .await
}

/// The chunks of a reader.
fn chunks(reader: &ReadableStreamDefaultReader) -> impl Stream<Item = Result<Uint8Array, JsValue>> {
    stream::try_unfold(reader.clone(), |reader| async move {
        let given = JsFuture::from(reader.read()).await?;
        if Reflect::get(&given, &"done".into())?.is_truthy() {
            return Ok(None);
        }
        let chunk = Reflect::get(&given, &"value".into())?.dyn_into::<Uint8Array>()?;
        Ok(Some((chunk, reader)))
    })
}
