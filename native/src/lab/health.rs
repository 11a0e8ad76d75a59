//! For load balancers and watchers: is it alive, and does it serve?

use std::io;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use servent::SiteStanding;
use tokio::net::TcpListener;

use super::{Hub, listener};

/// `GET /healthz`: the process answers.
pub(super) async fn alive() -> &'static str {
    "alive\n"
}

/// `GET /readyz`: it serves, and what it promises is saved.
pub(super) async fn ready(State(hub): State<Arc<Hub>>) -> impl IntoResponse {
    if hub.servents.iter().any(|live| live.handle.is_store_unavailable()) {
        (StatusCode::SERVICE_UNAVAILABLE, "the database of the site is away\n")
    } else if hub.servents.iter().filter_map(|live| live.handle.standing()).any(is_lost) {
        (StatusCode::SERVICE_UNAVAILABLE, "it has not heard of the site yet\n")
    } else {
        (StatusCode::OK, "ready\n")
    }
}

/// A member of a divided site that could answer no client, and redirect none.
const fn is_lost(standing: SiteStanding) -> bool {
    standing.ours == 0 && standing.others == 0
}

/// Answers for a servent that stands by, at the port that its lab will have.
pub(crate) async fn stand_by(port: &TcpListener) -> io::Result<()> {
    let metrics = || async {
        let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4")];
        (kind, "# TYPE servent_site_leads gauge\nservent_site_leads 0\n")
    };
    let standby = || async { (StatusCode::SERVICE_UNAVAILABLE, "standing by\n") };
    let router = Router::new()
        .route("/healthz", get(alive))
        .route("/readyz", get(standby))
        .route("/metrics", get(metrics))
        .fallback(standby);
    listener::serve(port, router, std::future::pending()).await
}
