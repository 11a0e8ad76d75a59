//! How a servent of a site starts that may have to stand by first.

use std::time::Duration;

use futures::future::join_all;
use serde_json::{Value, json};
use servent::Role;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::exit::Failure;
use crate::lab;
use crate::signal::Signals;

/// How long saying goodbye may take.
const GOODBYE: Duration = Duration::from_secs(2);

/// Starts one that is told to `role` whether it leads, and tells what it does until
/// then. Clients at `ports` meanwhile hear that it is not ready. `None`: a
/// signal ended it before it led.
///
/// # Errors
/// It cannot start.
pub(crate) async fn start<T, Starting>(
    starting: impl FnOnce(watch::Sender<Role>) -> Starting,
    ports: &[&TcpListener],
    signals: &mut Signals,
    tell: impl Fn(&Value, &str) -> Result<(), Failure>,
) -> Result<Option<T>, Failure>
where
    Starting: Future<Output = Result<T, Failure>>,
{
    let (role, mut plays) = watch::channel(Role::Starting);
    let health = async {
        join_all(ports.iter().map(|port| lab::stand_by(port))).await;
        std::future::pending::<()>().await
    };
    let tell = async move {
        while plays.changed().await.is_ok() {
            let role = *plays.borrow_and_update();
            match role {
                Role::Standby => tell(&json!({ "event": "standby" }), "standing by")?,
                Role::Leading => tell(&json!({ "event": "leading" }), "leading the site")?,
                Role::Starting => {}
            }
        }
        std::future::pending::<Result<(), Failure>>().await
    };
    let starting = starting(role);
    tokio::pin!(starting);
    let ended = tokio::select! {
        started = &mut starting => return started.map(Some),
        () = signals.first() => Ok(None),
        failed = tell => failed.map(|()| None),
        () = health => Ok(None),
    };
    // Its outcome has no listener any more: it says goodbye to the others.
    let _ = tokio::time::timeout(GOODBYE, starting).await;
    ended
}
