//! `quinn`: one stream, length-prefixed, encrypted, Cubic.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use quinn::{ClientConfig, Endpoint, ServerConfig};
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use tokio::runtime::Builder;

use crate::meter::{Frames, Meter, framed, ready, when_stopped};
use crate::words::{Counted, Job, Ready};

const NAME: &str = "localhost";

fn anywhere() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))
}

pub(crate) fn receive(job: &Job) -> Result<Counted> {
    let issued = rcgen::generate_simple_self_signed(vec![NAME.into()])?;
    let certificate = CertificateDer::from(issued.cert);
    let key = PrivatePkcs8KeyDer::from(issued.signing_key.serialize_der());
    let config = ServerConfig::with_single_cert(vec![certificate.clone()], key.into())?;
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let endpoint = Endpoint::server(config, SocketAddr::from((job.on, 0)))?;
        ready(endpoint.local_addr()?, certificate.to_vec())?;
        let connection = endpoint.accept().await.context("no sender came")?.await?;
        let mut stream = connection.accept_uni().await?;
        let (mut frames, mut meter) = (Frames::default(), Meter::new(job));
        while let Some(chunk) = stream.read_chunk(64 * 1024, true).await? {
            if let Some(counted) = meter.count(frames.take(&chunk.bytes)) {
                return Ok(counted);
            }
        }
        bail!("the sender closed")
    })
}

pub(crate) fn send(job: &Job, to: &Ready) -> Result<()> {
    when_stopped(|| ());
    let mut trusted = RootCertStore::empty();
    trusted.add(CertificateDer::from(to.certificate.clone()))?;
    let bytes = framed(job.size)?;
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let mut endpoint = Endpoint::client(anywhere())?;
        endpoint
            .set_default_client_config(ClientConfig::with_root_certificates(Arc::new(trusted))?);
        let connection = endpoint.connect(to.at, NAME)?.await?;
        let mut stream = connection.open_uni().await?;
        // It ends when it is told to stop, or when the receiver has seen enough.
        while stream.write_all(&bytes).await.is_ok() {}
        std::future::pending::<()>().await;
        Ok(())
    })
}
