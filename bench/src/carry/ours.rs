//! Ours: the program's own endpoints with their default congestion control.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, to_value};
use servent::unicast::{Config, Endpoint, EndpointOptions, UnicastPayload};
use tokio::runtime::{Builder, Runtime};

use crate::meter::{Meter, now, ready, say, when_stopped};
use crate::words::{Contender, Counted, Job, Ready};

/// Bytes of a lone message: datagrams without one are far smaller.
pub(crate) const LONE: usize = 200;
/// Between two lone messages: long enough for everything to be said.
const PAUSE: Duration = Duration::from_millis(60);

fn runtime() -> Result<Runtime> {
    Ok(Builder::new_multi_thread().worker_threads(2).enable_all().build()?)
}

async fn bind(contender: Option<Contender>) -> Result<Endpoint> {
    let mtu = match contender {
        Some(Contender::Ours { mtu }) => mtu,
        _ => Config::default().mtu,
    };
    let options = EndpointOptions {
        config: Config { mtu, ..Config::default() },
        ..EndpointOptions::default()
    };
    Ok(Endpoint::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), options).await?)
}

fn counters(endpoint: &Endpoint) -> Value {
    to_value(endpoint.counters()).unwrap_or_default()
}

/// Counts until it has measured long enough, or the sender closes.
pub(crate) fn receive(job: &Job) -> Result<Counted> {
    runtime()?.block_on(async {
        let endpoint = bind(Some(job.contender)).await?;
        ready(endpoint.local_addr(), Vec::new())?;
        let connection = endpoint.accept().await.context("no sender came")?;
        let (mut meter, mut messages) = (Meter::new(job), 0);
        while connection.recv().await?.is_some() {
            messages += 1;
            if let Some(counted) = meter.count(1).filter(|_| job.count == 0) {
                return Ok(Counted { counters: counters(&endpoint), ..counted });
            }
        }
        if messages != job.count {
            bail!("{messages} of {} messages arrived", job.count);
        }
        let counters = counters(&endpoint);
        connection.close().await?;
        Ok(Counted { messages, seconds: 0.0, all: messages, counters })
    })
}

/// Sends until it is told to stop, or as many as it was told.
pub(crate) fn send(job: &Job, to: &Ready) -> Result<()> {
    runtime()?.block_on(async {
        let endpoint = Arc::new(bind(Some(job.contender)).await?);
        let told = Arc::clone(&endpoint);
        when_stopped(move || counters(&told));
        let connection = endpoint.connect(to.at)?;
        let message = UnicastPayload::from(vec![7; job.size]);
        let mut left = job.count;
        while job.count == 0 || left > 0 {
            if connection.send(message.clone()).await.is_err() {
                break; // The receiver has seen enough.
            }
            left = left.wrapping_sub(1);
        }
        if job.count > 0 {
            connection.close().await?;
        }
        std::future::pending::<()>().await;
        Ok(())
    })
}

/// Sends every message back.
pub(crate) fn echo() -> Result<()> {
    runtime()?.block_on(async {
        let endpoint = bind(None).await?;
        ready(endpoint.local_addr(), Vec::new())?;
        let connection = endpoint.accept().await.context("no sender came")?;
        while let Some(message) = connection.recv().await? {
            connection.send(message).await?;
        }
        Ok(())
    })
}

/// Sends message after message, each alone; says of each how many
/// microseconds it took there and back, and whether it was sent again.
pub(crate) fn ping(to: &Ready, count: u32) -> Result<()> {
    runtime()?.block_on(async {
        let endpoint = bind(None).await?;
        let connection = endpoint.connect(to.at)?;
        let mut times = Vec::new();
        let again = || endpoint.counters().protocol.resent;
        for _ in 0..count {
            let (began, before) = (now(), again());
            connection.send(vec![7; LONE]).await?;
            connection.recv().await?.context("the other side closed")?;
            let took = began.elapsed().as_secs_f64() * 1e6;
            tokio::time::sleep(PAUSE).await;
            times.push((took, again() > before));
        }
        say(&times)
    })
}
