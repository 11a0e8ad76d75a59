//! `GET /metrics`: the counters and gauges of every servent in this process, in
//! Prometheus' text format. They are read on request; nothing is counted twice.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use metrics::{Label, counter, gauge};
use metrics_exporter_prometheus::PrometheusBuilder;
use serde::Serialize;
use servent::driver::{Handle, Neighbourhood};
use servent::{Identity, SiteStanding};
use servent_core::node::NodeView;

use super::Hub;

pub(super) async fn metrics(State(hub): State<Arc<Hub>>) -> Response {
    let mut seen = Vec::new();
    for live in &hub.servents {
        // No queue entries are needed, only the lengths.
        let view = live.handle.view(1, 0).await.unwrap_or_default();
        seen.push((live, view, live.handle.neighbourhood().await.unwrap_or_default()));
    }
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    metrics::with_local_recorder(&recorder, || {
        for (live, view, overlay) in &seen {
            let labels = vec![Label::new("servent", live.name.clone())];
            counters(&live.handle, &labels);
            gauges(view, &labels);
            if let Some(identity) = live.handle.identity() {
                certificate(identity, &labels);
            }
            if let Some(standing) = live.handle.standing() {
                parts(standing, &labels);
            }
            if let Some(overlay) = overlay {
                overlay_rows(overlay, &labels);
            }
        }
        let handles: Vec<&Handle> = hub.servents.iter().map(|live| &live.handle).collect();
        store(&handles);
        gauge!("servent_lab_tape_readers").set(f64::from(hub.readers.now()));
        counter!("servent_lab_tape_refused_total").absolute(hub.readers.refused());
    });
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], handle.render()).into_response()
}

/// What a servent has counted.
pub(super) fn counters(handle: &Handle, labels: &[Label]) {
    for (name, value) in handle.counters() {
        counter!(format!("servent_{name}_total"), labels.to_vec()).absolute(value);
    }
}

/// When the certificate ends, in Unix time, as alerts expect it.
fn certificate(identity: &Identity, labels: &[Label]) {
    let ends = identity.ends().as_micros() / 1_000_000;
    // No date has anywhere near 2^53 seconds.
    gauge!("servent_certificate_ends_seconds", labels.to_vec()).set(ends as f64);
}

/// Whether everything is saved, and that the member that is asked leads: one that stands
/// by answers elsewhere.
pub(super) fn store(handles: &[&Handle]) {
    let away = handles.iter().any(|handle| handle.is_store_unavailable());
    gauge!("servent_store_away").set(if away { 1.0 } else { 0.0 });
    let lag = handles.iter().map(|handle| handle.lag()).max().unwrap_or_default();
    gauge!("servent_store_lag_seconds").set(lag.as_secs_f64());
    gauge!("servent_site_leads").set(1.0);
}

/// Who leads the parts of a divided site, as far as this member knows.
pub(super) fn parts(standing: SiteStanding, labels: &[Label]) {
    let SiteStanding { ours, others, nobodys } = standing;
    for (whose, count) in [("ours", ours), ("others", others), ("nobodys", nobodys)] {
        let whose = Label::new("whose", whose);
        let labels = labels.iter().cloned().chain([whose]).collect::<Vec<_>>();
        gauge!("servent_site_parts", labels).set(f64::from(count));
    }
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

/// Neighbours, the router's table sizes, and what happened to messages.
fn overlay_rows(overlay: &Neighbourhood, labels: &[Label]) {
    let with = |more: &[(&'static str, String)]| -> Vec<Label> {
        let more = more.iter().map(|(name, value)| Label::new(*name, value.clone()));
        labels.iter().cloned().chain(more).collect()
    };
    let router = &overlay.router;
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    gauge!("servent_overlay_neighbours", labels.to_vec()).set(f64::from(count(router.links.len())));
    gauge!("servent_overlay_hosts", labels.to_vec()).set(f64::from(count(overlay.hosts)));
    for table in &router.tables {
        let labels = with(&[("table", name(&table.table))]);
        // No table has anywhere near 2^53 entries.
        gauge!("servent_overlay_table_entries", labels.clone())
            .set((table.young + table.old) as f64);
        gauge!("servent_overlay_table_bytes", labels).set(table.bytes as f64);
    }
    for kind in &router.messages {
        let of = ("kind", name(&kind.kind));
        let labels = with(std::slice::from_ref(&of));
        counter!("servent_overlay_received_total", labels.clone()).absolute(kind.received);
        counter!("servent_overlay_sent_total", labels).absolute(kind.sent);
        for (why, dropped) in &kind.dropped {
            let labels = with(&[of.clone(), ("why", name(why))]);
            counter!("servent_overlay_dropped_total", labels).absolute(*dropped);
        }
    }
}

/// The name of something in JSON.
fn name(what: &impl Serialize) -> String {
    let name = serde_json::to_value(what).ok();
    name.and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
}
