//! `servent doctor`: what this network lets through, in sentences (PA-15).

use std::net::SocketAddr;

use clap::Args;
use serde_json::json;
use servent::unicast::{
    Endpoint, EndpointOptions, MEET_PORT, MeetingSecret, filtering, largest_to_place,
};
use servent_core::meet::{MeetFailure, MeetSide, NatMapping};
use servent_core::node::MeetAnswer;

use super::diagnosis::{AddressView, DoctorFinding, fact, firewall, help, sentence};
use super::via::{addresses, bind_any, check_place, silent, unmet};
use crate::cli::carry::code;
use crate::cli::start::runtime;
use crate::cli::{Common, print};
use crate::exit::{Exit, Failure};

/// Say what this network does with UDP, and what would help.
///
/// It asks a meeting place how this machine looks from there, over IPv4 and over
/// IPv6. Nothing is sent to any other host.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent doctor --via place.example.org    what the router between does
  servent doctor --via place.example.org --json
                                            for a script")]
pub(crate) struct DoctorArgs {
    /// The meeting place to ask (`servent meet`); usually that of the setting `via`.
    #[arg(long, value_name = "HOST[:PORT]")]
    via: Option<String>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(common: &Common, arguments: &DoctorArgs) -> Result<(), Failure> {
    let via = match arguments.via.clone() {
        Some(via) => via,
        None => common.builder()?.finish()?.settings.via.ok_or_else(|| {
            Failure::usage("there is no meeting place to ask")
                .next("name one: servent doctor --via HOST")
        })?,
    };
    check_place(&via)?;
    runtime()?.block_on(async {
        let found = addresses(&via).await?;
        let port = found.first().map_or(MEET_PORT, SocketAddr::port);
        let (v4, v6): (Vec<_>, Vec<_>) = found.into_iter().partition(SocketAddr::is_ipv4);
        let (v4, v6) = tokio::try_join!(ask(v4), ask(v6))?;
        let (help, firewall) = (help(&v4, &v6), firewall(port));
        print(if arguments.json {
            let (ipv4, ipv6) = (fact(&v4), fact(&v6));
            let told = json!({
                "via": via, "ipv4": ipv4, "ipv6": ipv6, "help": help, "firewall": firewall,
            });
            format!("{told}\n")
        } else {
            let (one, other) = (sentence("IPv4", &v4), sentence("IPv6", &v6));
            format!("{one}\n{other}\n{help}\n{firewall}\n")
        })?;
        end(&via, &[v4, v6])
    })
}

/// A failure when the place does not see us at all.
fn end(via: &str, found: &[DoctorFinding]) -> Result<(), Failure> {
    if found.iter().any(DoctorFinding::is_answered) {
        return Ok(());
    }
    let why = found.iter().find_map(|finding| match finding {
        DoctorFinding::Failed(why) => Some(*why),
        _ => None,
    });
    Err(match why {
        // The person who asks the doctor is not sent to the doctor.
        Some(MeetFailure::Silent) => silent(via, ""),
        Some(why) => unmet(via, why),
        None => Failure::new(Exit::Network, format!("{via} has no address")),
    })
}

/// Asks a place at addresses of one family, in a meeting of its own.
async fn ask(places: Vec<SocketAddr>) -> Result<DoctorFinding, Failure> {
    if places.is_empty() {
        return Ok(DoctorFinding::NoAddress);
    }
    let endpoint = bind_any(None, EndpointOptions::default()).await?;
    let found = look(&endpoint, places).await;
    let _ = endpoint.end_visit().await; // It was only asked.
    endpoint.shutdown().await.map_err(Failure::from)?;
    found
}

async fn look(endpoint: &Endpoint, places: Vec<SocketAddr>) -> Result<DoctorFinding, Failure> {
    // A meeting of which no other knows.
    let secret = MeetingSecret::from_words(&code::random()?.to_string());
    let own = endpoint.own_addresses(&places);
    let mut news = endpoint.visit(places, secret, MeetSide::Listener).await?;
    loop {
        match news.next().await {
            // It came through the door, whose address for us says nothing.
            Some(MeetAnswer::Located { mapping: NatMapping::Blocked, .. }) => {
                return Ok(DoctorFinding::DoorOnly);
            }
            Some(MeetAnswer::Located { place, seen, mapping }) => {
                let (filtering, largest) = tokio::join!(filtering(place), largest_to_place(place));
                let other = |at: &SocketAddr| *at != seen && at.is_ipv4() == seen.is_ipv4();
                return Ok(DoctorFinding::Seen(AddressView {
                    seen,
                    own: own.into_iter().filter(other).collect(),
                    mapping,
                    // A place that cannot be asked shows nothing.
                    filtering: filtering.unwrap_or_default(),
                    largest: largest.unwrap_or_default(),
                }));
            }
            Some(MeetAnswer::Failed { why, .. }) => return Ok(DoctorFinding::Failed(why)),
            Some(_) => {}
            None => return Err(Failure::new(Exit::Failed, "the endpoint has ended")),
        }
    }
}
