//! The words of `servent doctor` (PA-15).

use std::net::SocketAddr;

use serde_json::{Value, json};
use servent::unicast::NatFiltering;
use servent_core::meet::{MeetFailure, NatMapping};

/// What was found out over one family of addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DoctorFinding {
    /// The place has no such address.
    NoAddress,
    /// Nothing came back.
    Failed(MeetFailure),
    /// Only the door of the place answers, over TCP.
    DoorOnly,
    Seen(AddressView),
}

/// How this machine looks from a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AddressView {
    pub(super) seen: SocketAddr,
    /// Our own addresses, which the other side of a meeting is told too.
    pub(super) own: Vec<SocketAddr>,
    pub(super) mapping: NatMapping,
    pub(super) filtering: NatFiltering,
    /// The bytes of the largest datagram that reached the place.
    pub(super) largest: Option<usize>,
}

impl DoctorFinding {
    /// True when the place has answered, over UDP or TCP.
    pub(super) const fn is_answered(&self) -> bool {
        matches!(self, Self::Seen(_) | Self::DoorOnly)
    }

    fn is_mapped(&self, mapping: NatMapping) -> bool {
        matches!(self, Self::Seen(view) if view.mapping == mapping)
    }

    /// True where only the very port that was written to is let in, or that is not known.
    fn is_strict(&self) -> bool {
        let strict = [NatFiltering::AddressAndPortDependent, NatFiltering::Unknown];
        matches!(self, Self::Seen(view) if strict.contains(&view.filtering))
    }
}

/// What was found, for people.
pub(super) fn sentence(family: &str, finding: &DoctorFinding) -> String {
    match finding {
        DoctorFinding::NoAddress => {
            format!("{family}: the meeting place has no such address, so nothing is known.")
        }
        DoctorFinding::Failed(MeetFailure::Silent) => format!(
            "{family}: no answer. This network blocks UDP, has no {family}, or the place does not run."
        ),
        DoctorFinding::Failed(_) => format!("{family}: the place answers, but refuses us."),
        DoctorFinding::DoorOnly => format!(
            "{family}: the place answers over TCP and not over UDP, and must relay. This network may \
             block UDP."
        ),
        DoctorFinding::Seen(view) => {
            let own: String = view.own.iter().map(|at| format!(", {at}")).collect();
            let largest = view.largest.map_or_else(String::new, |bytes| {
                format!("\n  Datagrams of {bytes} bytes reach the place.")
            });
            let (seen, router, let_in) = (view.seen, router(view.mapping), let_in(view.filtering));
            format!(
                "{family}: the place sees this machine as {seen}.\n  {router}\n  {let_in}{largest}\n  \
                 The other side of a meeting is told: {seen}{own}."
            )
        }
    }
}

/// What the router between does with addresses (RFC 4787 §4).
const fn router(mapping: NatMapping) -> &'static str {
    match mapping {
        NatMapping::None => {
            "It is this machine's own: no router translates it. A firewall may still stand before it."
        }
        NatMapping::Same => {
            "A router translates addresses, and keeps one port for every destination (endpoint-independent mapping): most others can be met directly."
        }
        NatMapping::Varies => {
            "A router gives every destination another port (address and port-dependent mapping, symmetric): most others can be met directly, but not those whose router does the same."
        }
        NatMapping::Blocked => "The place answers over TCP and not over UDP.",
        NatMapping::Unknown => {
            "A router translates addresses. What it does with ports is not known, because the second port of the place does not answer."
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

/// The same for programs.
pub(super) fn fact(finding: &DoctorFinding) -> Value {
    match finding {
        DoctorFinding::NoAddress => Value::Null,
        DoctorFinding::Failed(why) => json!({ "failure": why }),
        DoctorFinding::DoorOnly => json!({ "seen": null, "mapping": NatMapping::Blocked }),
        DoctorFinding::Seen(AddressView { seen, own, mapping, filtering, largest }) => json!({
            "seen": seen, "own": own, "mapping": mapping, "filtering": filtering,
            "largest": largest,
        }),
    }
}

/// What would help.
pub(super) fn help(v4: &DoctorFinding, v6: &DoctorFinding) -> &'static str {
    let both = [v4, v6];
    let any = |mapping| both.iter().any(|finding| finding.is_mapped(mapping));
    let open = both.iter().any(|it| it.is_mapped(NatMapping::None) && !it.is_strict());
    if !both.iter().any(|finding| matches!(finding, DoctorFinding::Seen(_))) {
        return if both.contains(&&DoctorFinding::DoorOnly) {
            "What would help: nothing more. This place relays, over TCP; for a direct path it takes \
             a network that lets UDP out, such as that of a telephone."
        } else {
            "What would help: that the place runs, if it does not (`servent meet`); otherwise a \
             network that lets UDP out, such as that of a telephone."
        };
    }
    if v6.is_mapped(NatMapping::None) {
        "What would help: nothing is needed. Over IPv6 two of you only have to knock."
    } else if open {
        "What would help: nothing is needed. All whose network lets UDP out can be met directly."
    } else if any(NatMapping::Varies) {
        "What would help: a meeting place that relays (servent meet --relay 2M), --map-port where \
         the router forwards ports when it is asked, or IPv6 on both sides."
    } else {
        "What would help: nothing is needed for most. With someone whose router gives every \
         destination another port, a meeting place that relays helps."
    }
}

/// What a firewall before this machine has to let through; `port`: that of the place.
pub(super) fn firewall(port: u16) -> String {
    let second = port.saturating_add(1);
    format!(
        "A firewall must let out UDP to ports {port} and {second} of the place and to any port of \
         those who are met, and let in what answers; where it blocks UDP, TCP to port {port} of a \
         place that relays."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(mapping: NatMapping, filtering: NatFiltering) -> DoctorFinding {
        let [seen, own] = ["203.0.113.7:4000", "10.0.0.7:5000"].map(|at| at.parse().unwrap());
        DoctorFinding::Seen(AddressView {
            seen,
            own: vec![own],
            mapping,
            filtering,
            largest: Some(1_472),
        })
    }

    #[test]
    fn pa_15_a_place_that_only_its_door_answers_shows_no_address() {
        let fact = fact(&DoctorFinding::DoorOnly);
        assert_eq!(fact, json!({ "seen": null, "mapping": "blocked" }));
        let said = sentence("IPv4", &DoctorFinding::DoorOnly);
        assert!(said.contains("over TCP and not over UDP"), "{said}");
    }

    #[test]
    fn pa_15_it_shows_candidates_sizes_and_what_a_firewall_must_open() {
        let found = seen(NatMapping::Same, NatFiltering::AddressAndPortDependent);
        let said = sentence("IPv4", &found);
        for part in ["1472 bytes reach", "told: 203.0.113.7:4000, 10.0.0.7:5000."] {
            assert!(said.contains(part), "{said}");
        }
        assert_eq!(fact(&found)["own"], json!(["10.0.0.7:5000"]));
        assert!(firewall(6349).contains("6349 and 6350"));
    }

    #[test]
    fn pa_15_what_would_help_follows_from_the_better_family() {
        let strict = NatFiltering::AddressAndPortDependent;
        let lax = NatFiltering::AddressDependent;
        let [none, silent] = [DoctorFinding::NoAddress, DoctorFinding::Failed(MeetFailure::Silent)];
        for (v4, v6, words) in [
            (silent.clone(), none.clone(), "a network that lets UDP out"),
            (silent.clone(), none.clone(), "that the place runs, if it does not"),
            (DoctorFinding::DoorOnly, none.clone(), "This place relays"),
            (seen(NatMapping::Same, strict), DoctorFinding::DoorOnly, "nothing is needed for most"),
            (seen(NatMapping::None, lax), silent.clone(), "All whose network"),
            (seen(NatMapping::None, strict), none.clone(), "nothing is needed for most"),
            (seen(NatMapping::Varies, strict), none, "a meeting place that relays"),
            (silent, seen(NatMapping::None, strict), "only have to knock"),
        ] {
            let help = help(&v4, &v6);
            assert!(help.contains(words), "{v4:?} {v6:?}: {help}");
        }
    }
}
