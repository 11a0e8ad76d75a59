//! A machine of its own: a network namespace whose cables are devices of
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
            sh("ip link set lo up")?;
            Ok(Self { namespace, cable: cable("line", address)? })
        })
    }

    /// Another cable, by which it is in another network of 24 bits.
    pub(super) fn add_cable(&self, name: &str, address: &str) -> Result<File> {
        self.does(|| cable(name, address))
    }

    /// Runs a line of shell on this machine.
    pub(super) fn run(&self, line: &str) -> Result<()> {
        self.does(|| sh(line))
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

/// A device of this thread's namespace, whose other end is the file.
fn cable(name: &str, address: &str) -> Result<File> {
    let cable = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open("/dev/net/tun")
        .context("no /dev/net/tun")?;
    let mut request = Request { name: [0; 16], flags: BARE_PACKETS, rest: [0; 22] };
    request.name[..name.len()].copy_from_slice(name.as_bytes());
    // SAFETY: the call reads one `struct ifreq`, which this is.
    unsafe { ioctl(&cable, Setter::<MAKE_DEVICE, Request>::new(request)) }?;
    sh(&format!("ip addr add {address}/24 dev {name}; ip link set {name} txqueuelen {QUEUE} up"))?;
    Ok(cable)
}

/// Runs a line of shell in this thread's namespace.
fn sh(line: &str) -> Result<()> {
    let line = format!("PATH=$PATH:/usr/sbin:/sbin; {line}");
    let done = Command::new("sh").args(["-ec", &line]).status()?;
    ensure!(done.success(), "`{line}` ended with {done}");
    Ok(())
}

/// A namespace is a thread's.
fn on_another_thread<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    std::thread::scope(|scope| scope.spawn(work).join())
        .map_err(|_| anyhow!("a thread broke off"))?
}
