//! A machine of its own: a network namespace whose only cable is a device of
//! ours below IP. It has no name and ends with the processes in it, so there
//! is nothing to remove, however the bench ends.
#![expect(unsafe_code, reason = "no library makes a namespace and its device safely")]

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::Command;

use anyhow::{Context as _, Result, anyhow, ensure};
use rustix::fs::OFlags;
use rustix::ioctl::{Setter, ioctl};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

/// `TUNSETIFF`, as Linux numbers it on every machine we build for.
const MAKE_DEVICE: rustix::ioctl::Opcode = 0x4004_54ca;
/// Packets of IP, and nothing before them.
const BARE_PACKETS: u16 = 0x1001;
/// What the namespace's own queue holds, so that only the line loses packets.
const QUEUE: u32 = 10_000;

/// `struct ifreq`.
#[repr(C)]
struct Request {
    name: [u8; 16],
    flags: u16,
    rest: [u8; 22],
}

pub(super) struct Machine {
    namespace: File,
    /// What it sends is read here; what is written here, it receives.
    pub(super) cable: File,
}

impl Machine {
    /// With this address in a network of 24 bits.
    pub(super) fn new(address: &str) -> Result<Self> {
        on_another_thread(|| {
            // SAFETY: no table of files is unshared.
            unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.context("no network namespace")?;
            let namespace = File::open("/proc/thread-self/ns/net")?;
            let cable = OpenOptions::new()
                .read(true)
                .write(true)
                .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
                .open("/dev/net/tun")
                .context("no /dev/net/tun")?;
            let mut request = Request { name: [0; 16], flags: BARE_PACKETS, rest: [0; 22] };
            request.name[..4].copy_from_slice(b"line");
            // SAFETY: the call reads one `struct ifreq`, which this is.
            unsafe { ioctl(&cable, Setter::<MAKE_DEVICE, Request>::new(request)) }?;
            let lines = format!(
                "PATH=$PATH:/usr/sbin:/sbin; ip link set lo up; \
                 ip addr add {address}/24 dev line; ip link set line txqueuelen {QUEUE} up"
            );
            let done = Command::new("sh").args(["-ec", &lines]).status()?;
            ensure!(done.success(), "`ip` ended with {done}");
            Ok(Self { namespace, cable })
        })
    }

    /// Does something on this machine; processes that it starts stay here.
    pub(super) fn does<T: Send>(&self, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        on_another_thread(|| {
            use std::os::fd::AsFd as _;
            let network = Some(LinkNameSpaceType::Network);
            move_into_link_name_space(self.namespace.as_fd(), network)?;
            work()
        })
    }
}

/// A namespace is a thread's.
fn on_another_thread<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    std::thread::scope(|scope| scope.spawn(work).join())
        .map_err(|_| anyhow!("a thread broke off"))?
}
