//! The servent as a library: the driver that hosts the core's node on real
//! sockets, files and time. The program is built on it.

mod access;
mod clock;
mod counters;
pub mod dice;
pub mod driver;
pub mod error;
mod files;
mod inbox;
mod library;
mod net;
mod pins;
pub mod replay;
mod roots;
mod seldom;
mod store;
pub mod swarm;
#[doc(hidden)]
pub mod sys;
mod tape;
pub mod transfer;
pub mod unicast;

pub use self::access::Access;
pub use self::clock::Clock;
pub use self::library::{LibraryStatus, ShareOutcome};
pub use self::net::udp::any_address;
pub use self::net::{Credentials, Identity, IdentityError, Origins, Rate, RelayLimits, Relayed};
pub use self::net::{Descriptors, LAB_CONNECTIONS, LAB_WAITING, raise_descriptors};
pub use self::net::{Distrust, DistrustKind};
pub use self::net::{Proxies, ProxyError, SourceRoute, is_route, route_address};
pub use self::net::{connect_first, first_to_answer, resolve_host, without_brackets};
pub use self::pins::{CertificatePin, PinError};
pub use self::seldom::Seldom;
pub use self::store::{
    DamagedState, Database, DatabaseUrlError, Durability, Role, SiteMember, SiteStanding,
    SiteStatus, process_of_state,
};
pub use self::tape::{RecordingSubscription, TraceFile};
