//! A coordinator's monitoring endpoints: `/metrics` for Prometheus, `/status`
//! as JSON. They are read on request; nothing is counted twice.

use std::collections::BTreeMap;
use std::io;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Json, Router, middleware};
use metrics::{counter, gauge};
use metrics_exporter_prometheus::PrometheusBuilder;
use serde_json::{Value, json};
use servent::swarm::{CoordinatorServer, DriverTally};
use servent_core::node::swarm::CoordinatorHalf;
use tokio::net::TcpListener;

use super::guard;
use super::metrics::{counters, parts, store};

/// The most clients per file in `/status`.
const SHOWN: u32 = 1_000;

/// Serves until the task ends.
pub(crate) async fn serve(listener: TcpListener, server: CoordinatorServer) -> io::Result<()> {
    let router = Router::new()
        .route("/metrics", get(metrics))
        .route("/status", get(status))
        .layer(middleware::from_fn(guard::guard))
        .with_state(server);
    super::listener::serve(&listener, router, std::future::pending()).await
}

/// The swarm's figures, with `clients` of each file.
pub(crate) async fn facts(server: &CoordinatorServer, clients: u32) -> Option<Value> {
    let (view, tally) = server.view(clients).await.ok()?;
    let swarm = &view.swarm;
    let mut facts = json!({
        "clients": swarm.clients, "sent": view.sent,
        "source_copies_percent": copies(server, view.sent), "counters": swarm.counters,
        "reasons": tally, "refused_requests": view.refused,
    });
    if clients > 0 {
        facts["files"] = json!(swarm.files);
    }
    Some(facts)
}

/// What the source has sent, in hundredths of a copy of all files.
fn copies(server: &CoordinatorServer, sent: u64) -> u64 {
    let size: u64 = server.files().iter().map(|(_, hashed)| hashed.size).sum();
    sent.saturating_mul(100).checked_div(size).unwrap_or(0)
}

async fn status(State(server): State<CoordinatorServer>) -> Response {
    facts(&server, SHOWN).await.map_or_else(gone, |facts| Json(facts).into_response())
}

fn gone() -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, "the coordinator has ended\n").into_response()
}

async fn metrics(State(server): State<CoordinatorServer>) -> Response {
    let Ok((view, tally)) = server.view(0).await else { return gone() };
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    metrics::with_local_recorder(&recorder, || {
        swarm(&server, &view);
        reasons(&tally);
        let servent = server.servent();
        counters(servent, &[]);
        store(&[servent]);
        if let Some(standing) = servent.standing() {
            parts(standing, &[]);
        }
    });
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], handle.render()).into_response()
}

fn swarm(server: &CoordinatorServer, of: &CoordinatorHalf) {
    let view = &of.swarm;
    gauge!("servent_swarm_clients").set(f64::from(view.clients));
    gauge!("servent_swarm_ledger_addresses").set(f64::from(view.ledger));
    gauge!("servent_swarm_source_copies").set(copies(server, of.sent) as f64 / 100.0);
    let totals = [
        ("servent_swarm_source_bytes_total", of.sent),
        ("servent_swarm_source_refused_total", of.refused),
        ("servent_swarm_pieces_arrived_total", view.counters.arrived),
        ("servent_swarm_pieces_arrived_from_source_total", view.counters.arrived_from_source),
        ("servent_swarm_grants_total", view.counters.grants),
        ("servent_swarm_messages_sent_total", view.counters.sent),
        ("servent_swarm_messages_heard_total", view.counters.heard),
    ];
    for (name, value) in totals {
        counter!(name).absolute(value);
    }
    for file in &view.files {
        let name = file.url.clone();
        gauge!("servent_swarm_members", "url" => name.clone()).set(f64::from(file.members));
        gauge!("servent_swarm_ratio", "url" => name).set(f64::from(file.ratio) / 1_000.0);
    }
}

fn reasons(tally: &DriverTally) {
    let lists: [(&'static str, &BTreeMap<&'static str, u64>); 4] = [
        ("servent_swarm_assigned_total", &tally.assigned),
        ("servent_swarm_failed_total", &tally.failed),
        ("servent_swarm_refused_total", &tally.refused),
        ("servent_swarm_limits_total", &tally.limits),
    ];
    for (name, list) in lists {
        for (why, count) in list {
            counter!(name, "why" => *why).absolute(*count);
        }
    }
    counter!("servent_swarm_quarantined_total").absolute(tally.quarantined);
}
