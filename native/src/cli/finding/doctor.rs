//! `servent doctor`: what this network lets through, in sentences (PA-15).

use std::net::SocketAddr;

use clap::Args;
use serde_json::{Value, json};
use servent::unicast::{Endpoint, EndpointOptions, MeetingSecret, NatFiltering, filtering};
use servent_core::meet::{MeetFailure, MeetSide, NatMapping};
use servent_core::node::MeetAnswer;

use super::via::{addresses, bind_any, silent, unmet};
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

/// What was found out over one family of addresses.
#[derive(Debug, Clone, Copy)]
enum DoctorFinding {
    /// The place has no such address.
    NoAddress,
    /// Nothing came back.
    Failed(MeetFailure),
    Seen {
        seen: SocketAddr,
        mapping: NatMapping,
        filtering: NatFiltering,
    },
}

pub(crate) fn run(common: &Common, arguments: &DoctorArgs) -> Result<(), Failure> {
    let via = match arguments.via.clone() {
        Some(via) => via,
        None => common.builder()?.finish()?.settings.via.ok_or_else(|| {
            Failure::usage("there is no meeting place to ask")
                .next("name one: servent doctor --via HOST")
        })?,
    };
    runtime()?.block_on(async {
        let found = addresses(&via).await?;
        let (v4, v6): (Vec<_>, Vec<_>) = found.into_iter().partition(SocketAddr::is_ipv4);
        let (v4, v6) = tokio::try_join!(ask(v4), ask(v6))?;
        let text = if arguments.json {
            format!(
                "{}\n",
                json!({ "via": via, "ipv4": fact(v4), "ipv6": fact(v6), "help": help(v4, v6) })
            )
        } else {
            let (one, other) = (sentence("IPv4", v4), sentence("IPv6", v6));
            format!("{one}\n{other}\n{}\n", help(v4, v6))
        };
        print(text)?;
        match (v4, v6) {
            (DoctorFinding::Seen { .. }, _) | (_, DoctorFinding::Seen { .. }) => Ok(()),
            // The person who asks the doctor is not sent to the doctor.
            (DoctorFinding::Failed(MeetFailure::Silent), _)
            | (_, DoctorFinding::Failed(MeetFailure::Silent)) => Err(silent(&via, "")),
            (DoctorFinding::Failed(why), _) | (_, DoctorFinding::Failed(why)) => {
                Err(unmet(&via, why))
            }
            _ => Err(Failure::new(Exit::Network, format!("{via} has no address"))),
        }
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
    let mut news = endpoint.visit(places, secret, MeetSide::Listener).await?;
    loop {
        match news.next().await {
            Some(MeetAnswer::Located { place, seen, mapping }) => {
                // One that cannot be asked shows nothing.
                let filtering = filtering(place).await.unwrap_or_default();
                return Ok(DoctorFinding::Seen { seen, mapping, filtering });
            }
            Some(MeetAnswer::Failed { why, .. }) => return Ok(DoctorFinding::Failed(why)),
            Some(_) => {}
            None => return Err(Failure::new(Exit::Failed, "the endpoint has ended")),
        }
    }
}

fn sentence(family: &str, finding: DoctorFinding) -> String {
    match finding {
        DoctorFinding::NoAddress => {
            format!("{family}: the meeting place has no such address, so nothing is known.")
        }
        DoctorFinding::Failed(_) => format!(
            "{family}: no answer. This network blocks UDP, has no {family}, or the place does not run."
        ),
        DoctorFinding::Seen { seen, mapping, filtering } => {
            let what = match mapping {
                NatMapping::None => {
                    "It is this machine's own: no router translates it. A firewall may still stand before it."
                }
                NatMapping::Same => {
                    "A router translates addresses, and keeps one port for every destination (endpoint-independent mapping): most others can be met directly."
                }
                NatMapping::Varies => {
                    "A router gives every destination another port (address and port-dependent mapping, symmetric): all can be met directly but those whose router does the same."
                }
                NatMapping::Blocked => {
                    "This network blocks UDP: the place is reached over TCP only, and must relay."
                }
                NatMapping::Unknown => {
                    "A router translates addresses. What it does with ports is not known, because the second port of the place does not answer."
                }
            };
            match mapping {
                NatMapping::Blocked => format!("{family}: {what}"),
                _ => format!(
                    "{family}: the place sees this machine as {seen}. {what} {}",
                    let_in(filtering)
                ),
            }
        }
    }
}

/// What comes in from hosts that were written to (RFC 4787 §5).
const fn let_in(filtering: NatFiltering) -> &'static str {
    match filtering {
        NatFiltering::Unknown => "What is let in is not known: the place has no second port.",
        NatFiltering::EndpointIndependent => {
            "What hosts send that were never written to is let in (endpoint-independent filtering)."
        }
        NatFiltering::AddressDependent => {
            "What a host sends that was written to is let in from all of its ports (filtering that is address-dependent at most)."
        }
        NatFiltering::AddressAndPortDependent => {
            "Only what comes from the very port that was written to is let in (address and port-dependent filtering)."
        }
    }
}

fn fact(finding: DoctorFinding) -> Value {
    match finding {
        DoctorFinding::NoAddress => Value::Null,
        DoctorFinding::Failed(why) => json!({ "failure": why }),
        DoctorFinding::Seen { seen, mapping, filtering } => {
            json!({ "seen": seen, "mapping": mapping, "filtering": filtering })
        }
    }
}

/// What would help.
fn help(v4: DoctorFinding, v6: DoctorFinding) -> &'static str {
    let is =
        |finding, kind| matches!(finding, DoctorFinding::Seen { mapping, .. } if mapping == kind);
    let seen = |finding| matches!(finding, DoctorFinding::Seen { .. });
    let blocked = is(v4, NatMapping::Blocked) || is(v6, NatMapping::Blocked);
    if blocked && !is(v4, NatMapping::Same) && !is(v6, NatMapping::None) {
        "What would help: nothing more. This place relays, over TCP; for a direct path it takes \
         a network that lets UDP out, such as that of a telephone."
    } else if !seen(v4) && !seen(v6) {
        "What would help: a network that lets UDP out, such as that of a telephone."
    } else if is(v6, NatMapping::None) {
        "What would help: nothing is needed. Over IPv6 two of you only have to knock."
    } else if is(v4, NatMapping::Varies) {
        "What would help: a meeting place that relays (servent meet --relay 2M), --map-port where \
         the router forwards ports when it is asked, or IPv6 on both sides."
    } else {
        "What would help: nothing is needed for most. With someone whose router gives every \
         destination another port, a meeting place that relays helps."
    }
}
