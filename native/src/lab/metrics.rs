//! `GET /metrics`: the counters and gauges of every servent here, in
//! Prometheus' text format. They are read when somebody asks; nothing is
//! counted a second time.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use metrics::{Label, counter, gauge};
use metrics_exporter_prometheus::PrometheusBuilder;
use servent_core::node::NodeView;

use super::Hub;

pub(super) async fn metrics(State(hub): State<Arc<Hub>>) -> Response {
    let mut seen = Vec::new();
    for live in &hub.servents {
        // The cards are not wanted, only the lengths.
        seen.push((live, live.handle.view(1, 0).await.unwrap_or_default()));
    }
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    metrics::with_local_recorder(&recorder, || {
        for (live, view) in &seen {
            let labels = vec![Label::new("servent", live.name.clone())];
            for (name, value) in live.handle.counters() {
                counter!(format!("servent_{name}_total"), labels.clone()).absolute(value);
            }
            gauges(view, &labels);
        }
        gauge!("servent_lab_tape_readers").set(f64::from(hub.readers.now()));
        counter!("servent_lab_tape_refused_total").absolute(hub.readers.refused());
    });
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], handle.render()).into_response()
}

fn gauges(view: &NodeView, labels: &[Label]) {
    let queue = &view.queue;
    let rows = [
        ("servent_queue_length", queue.length),
        ("servent_queue_capacity", queue.capacity),
        ("servent_slots", queue.slots),
        ("servent_slots_free", queue.free),
        ("servent_connections", view.connections),
        ("servent_shared_files", view.shared),
    ];
    for (name, value) in rows {
        gauge!(name, labels.to_vec()).set(f64::from(value));
    }
}
