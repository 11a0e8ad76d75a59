//! The one room that names an operating system: what standard library and
//! libraries do not say in the same way for all of them. Outside of this folder no
//! code knows on which system it runs; `cargo xtask tidy` sees to that.
//!
//! Each system has a folder with the same names in it, and a name means the same
//! in each. Where one cannot do what another does, its version says what is lost.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(windows)]
mod windows;
/// Its rules for names are tested everywhere.
#[cfg(all(test, not(windows)))]
#[path = "windows/names.rs"]
mod windows_names;

#[cfg(target_os = "linux")]
use self::linux as system;
#[cfg(windows)]
use self::windows as system;

pub use self::system::console::{Hangups, Hidden, Interrupts, input, is_device, output, terminal};
pub use self::system::control::{ControlListener, ControlSocket, ControlStream};
pub use self::system::files::{OwnerOnly, flush_disk, is_same_file, open_log, rename_new};
pub use self::system::machine::{browser, gateway, machine_name};
pub use self::system::service::ServiceManager;
pub use self::system::sockets::{is_closed_pipe, is_port_in_use};

pub(crate) use self::system::batches::Batches;
pub(crate) use self::system::beneath::Root;
pub(crate) use self::system::files::{
    FileAt, allocated, file_number, free_at, free_behind, is_executable, is_refused_link,
    link_nameless, modified, nameless, names_of, open_no_link, refused_link, set_executable,
    sync_folder,
};
pub(crate) use self::system::machine::{draw, machine_id, raise_open_files, steady};
pub(crate) use self::system::names::{fitting, os_string};
pub(crate) use self::system::sockets::{
    Cork, FineTimer, MANY, connect_anew, has_no_descriptor, is_of_the_disk, limit_unsent, peek,
    send_file, send_many, unacknowledged,
};
