//! Two endpoints on loopback that lose every tenth datagram and do not mind:
//! `cargo run -p servent --example unicast`.

use std::error::Error;

use servent::unicast::{Endpoint, EndpointOptions};

/// Messages sent there and back.
const COUNT: u32 = 1_000;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let lossy = |seed| -> Result<EndpointOptions, Box<dyn Error>> {
        Ok(EndpointOptions { loss: "10%".parse()?, seed, ..EndpointOptions::default() })
    };
    let server = Endpoint::bind("127.0.0.1:0".parse()?, lossy(1)?).await?;
    let at = server.local_addr();
    let echo = tokio::spawn(async move {
        if let Some(connection) = server.accept().await {
            while let Ok(Some(message)) = connection.recv().await {
                if connection.send(message).await.is_err() {
                    break; // No peer is there to echo to.
                }
            }
        }
        server.shutdown().await
    });

    let client = Endpoint::bind("127.0.0.1:0".parse()?, lossy(2)?).await?;
    let connection = client.connect(at)?;
    for n in 0..COUNT {
        connection.send(format!("message {n}")).await?;
    }
    for n in 0..COUNT {
        let message = connection.recv().await?.ok_or("the echo ended early")?;
        assert_eq!(message, format!("message {n}"));
    }
    connection.close().await?;
    let counters = client.counters();
    println!(
        "{COUNT} messages there and back, in order; {} datagrams lost, {} messages sent again",
        counters.socket.lost_in + counters.socket.lost_out,
        counters.protocol.resent,
    );
    client.shutdown().await?;
    echo.await??;
    Ok(())
}
