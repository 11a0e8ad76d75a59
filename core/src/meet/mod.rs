//! Two servents that cannot be reached find each other (PA-10 … PA-13).
//!
//! # The protocol on one page
//!
//! A **place** is a servent that both can reach. A **visitor** asks it for a
//! cookie, which shows it how its address looks from there; with the cookie it
//! takes its seat in a **meeting**, whose name is a hash of the first words of a
//! code. The place remembers a seat for [`Config::forget_after`]. When both seats
//! of a meeting are taken, the place introduces each side to the other: the address
//! it has seen, the **card** with the addresses that side knows of itself, which it
//! passes on unread, and when to begin.
//!
//! A visit may be for one meeting only ([`Visit::once`]), as those of a servent to which many
//! come and of these: when both sides have been told, both seats are free for the next two,
//! and a caller that comes before is refused and asks again, also behind the same router.
//!
//! Then both **knock** at every address of the other at the same instant, and again
//! at growing intervals for [`Config::knock_for`]: the first knock of one opens its
//! own router for those of the other. A knock is signed with a key from the code
//! and the numbers of both registrations, so that no place can make a visitor answer a
//! stranger, and nothing that was said in another visit is of use. The caller chooses the
//! first address that answers, the listener agrees, and the connection is opened on it.
//! Answer and choice give a token for the address they are sent to, which the next step
//! returns: no side takes a path to where the other does not receive, and a choice that is
//! not agreed to within [`Config::choose_for`] is given up for the next answer.
//!
//! When both have a direct path, another introduction changes nothing until the side that
//! it names has proved itself by knocks. What a visitor may spend on knocks
//! ([`Config::candidates`], [`Config::guesses`]) is given back with time, not with a new
//! introduction or a new visit.
//!
//! A place that **relays** passes on whatever one side of a meeting sends to it,
//! unread. Then both have a path at once, and leave it for the direct one when that
//! is proven. Where UDP is blocked, its **door** takes the same datagrams over TCP; a
//! visitor that comes through it has an address ([`door_address`]) at which no other
//! knocks.
//!
//! The other side of a meeting that is relayed has a name of its own
//! ([`is_meeting_peer`]), as has that of every later meeting of one visitor: the side that a place
//! introduces next at the same address is another peer, and what was begun with the one
//! before ends.
//!
//! | what it costs a stranger | what it gets |
//! |---|---|
//! | a question of 64 bytes, from any address | 37 bytes at most, nothing remembered |
//! | a registration of 272 bytes with the cookie of its address | three times that at most, and a seat for a minute; few of them for one address |
//! | a forged introduction | nothing: it must carry the number that the visitor has drawn, and the card is sealed with that of the other side |
//! | a knock that was seen on its way, from elsewhere | one answer of the same size there |
//!
//! [`MeetPlace`] is the engine of a place, [`MeetVisitor`] that of a visitor. Their
//! datagrams are in [`crate::wire::meet`].

mod clause;
mod config;
mod door;
mod event;
mod holdings;
mod name;
mod place;
mod visit;

pub use self::config::Config;
pub use self::door::{door_address, is_door, visitor_owner};
pub use self::event::{Event, MeetFailure};
pub use self::holdings::OwnerHoldings;
pub use self::name::{is_meeting_peer, is_no_host};
pub use self::place::{MeetPlace, PlaceCounters, PlaceInput, PlaceOutput};
pub use self::visit::{MeetVisitor, Visit, VisitInput, VisitOutput};
pub use crate::wire::meet::{
    KnockStep, MeetCard, MeetKey, MeetPacketError, MeetRefusal, MeetSide, MeetingId, NatMapping,
};
