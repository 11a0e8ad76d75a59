//! What this machine must have: installed where that can be done, otherwise
//! one sentence on how to get it.

use std::path::Path;

use anyhow::{Result, bail};

use crate::paths;
use crate::run::Tool;
use crate::steps::Outcome;

/// True in continuous integration, where nothing may silently be left out.
pub(crate) fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|v| !v.is_empty() && v != "0" && v != "false")
}

/// True when packages of the system can be installed.
fn root_with_apt() -> bool {
    Tool::new("apt-get").arg("--version").works()
        && Tool::new("id").arg("-u").quiet().is_ok_and(|id| id.trim() == "0")
}

/// The first of `names` that is a program here, as a whole path.
pub(crate) fn find(names: &[&str]) -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH")?;
    names.iter().find_map(|name| {
        std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file())
    })
}

/// Installs packages of the system.
///
/// # Errors
/// When we are not root, or apt fails.
pub(crate) fn apt_install(packages: &[&str]) -> Result<()> {
    if !root_with_apt() {
        bail!("missing: {0}; install it with `sudo apt-get install {0}`", packages.join(" "));
    }
    let apt = |words| {
        Tool::new("apt-get")
            .words("-qq -y -o Acquire::Retries=3")
            .words(words)
            .env("DEBIAN_FRONTEND", "noninteractive")
    };
    apt("update").quiet()?;
    packages
        .iter()
        .fold(apt("--no-install-recommends install"), |apt, name| apt.arg(name))
        .quiet()?;
    Ok(())
}

/// Makes sure of tshark, the decoder that some tests hold ours against.
pub(crate) fn decoder() -> String {
    wanted("tshark", "tshark", || find(&["tshark"]).is_some())
}

/// Makes sure of PostgreSQL, the store of a site.
pub(crate) fn database() -> String {
    wanted("PostgreSQL", "postgresql", || {
        let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        versions.into_iter().any(|version| version.path().join("bin/initdb").is_file())
    })
}

/// Makes sure of `ip`, which lays a cable between two machines of a test.
pub(crate) fn network() -> String {
    wanted("ip", "iproute2", || {
        ["/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip"].iter().any(|at| Path::new(at).exists())
    })
}

/// Makes sure of `nft`, which makes routers of the machines of a test.
pub(crate) fn routers() -> String {
    wanted("nft", "nftables", || {
        ["/usr/sbin/nft", "/sbin/nft"].iter().any(|at| Path::new(at).exists())
    })
}

/// Makes sure of `miniupnpd`, the part of a router that forwards ports when it is asked.
pub(crate) fn port_mapping() -> String {
    wanted("miniupnpd", "miniupnpd-nftables", || Path::new("/usr/sbin/miniupnpd").exists())
}

/// Makes sure of WebKit's driver and of a screen for it, the third engine of the
/// page's tests.
pub(crate) fn webkit() -> [String; 2] {
    let driver =
        wanted("WebKit's driver", "webkit2gtk-driver", || find(&["WebKitWebDriver"]).is_some());
    [driver, wanted("Xvfb", "xvfb", || find(&["Xvfb"]).is_some())]
}

/// Makes sure of HAProxy, which stands before a site in a test.
pub(crate) fn proxy() -> String {
    wanted("HAProxy", "haproxy", || Path::new("/usr/sbin/haproxy").exists())
}

/// Makes sure of nginx, behind which a share stands in a test.
pub(crate) fn web_server() -> String {
    wanted("nginx", "nginx-light", || Path::new("/usr/sbin/nginx").exists())
}

/// In continuous integration it is installed. Words for the summary when it is
/// not here; the tests that need it then say that they are left out.
fn wanted(name: &str, package: &str, here: impl Fn() -> bool) -> String {
    if here() {
        return String::new();
    }
    let why = if in_ci() { apt_install(&[package]).err() } else { None };
    match why {
        None if here() => String::new(),
        None => format!("without {name} (`sudo apt-get install {package}`)"),
        Some(why) => format!("without {name}: {why:#}").replace('\n', " "),
    }
}

/// Makes sure that the compiler knows `target`.
///
/// # Errors
/// When it does not and rustup cannot add it.
pub(crate) fn rust_target(target: &str) -> Result<()> {
    let sysroot = Tool::new("rustc").words("--print sysroot").quiet()?;
    let rustlib = Path::new(sysroot.trim()).join("lib/rustlib");
    if rustlib.join(target).join("lib").is_dir() {
        return Ok(());
    }
    if !Tool::new("rustup").arg("--version").works() {
        bail!("the Rust target {target} is missing; get rustup from https://rustup.rs");
    }
    Tool::new("rustup").words("target add").arg(target).quiet()?;
    Ok(())
}

/// Makes sure that a component of the toolchain (`rustfmt`, `clippy`) is here.
///
/// # Errors
/// When it is not and rustup cannot add it.
pub(crate) fn rust_component(program: &str, component: &str) -> Result<()> {
    if Tool::new(program).arg("--version").works() {
        return Ok(());
    }
    if !Tool::new("rustup").arg("--version").works() {
        bail!("{component} is missing; get rustup from https://rustup.rs");
    }
    Tool::new("rustup").words("component add").arg(component).quiet()?;
    Ok(())
}

/// Makes sure of Node and its packages. On a person's machine without them the
/// step that asks is left out, as the answer says.
///
/// # Errors
/// In continuous integration, and where npm is here but fails.
pub(crate) fn without_node() -> Result<Option<Outcome>> {
    match node_packages() {
        Ok(()) => Ok(None),
        Err(why) if !in_ci() && find(&["npm"]).is_none() => {
            Ok(Some(Outcome::Skipped(format!("{why:#}"))))
        }
        Err(why) => Err(why),
    }
}

/// Makes sure that Node and the page's locked development packages are here.
///
/// # Errors
/// When Node is missing, or npm fails.
fn node_packages() -> Result<()> {
    if !Tool::new("node").arg("--version").works() || !Tool::new("npm").arg("--version").works() {
        bail!("Node.js 20 or later with npm is missing; see https://nodejs.org");
    }
    let lock = paths::www().join("package-lock.json");
    let stamp = paths::www().join("node_modules/.package-lock.json");
    let age = |file| std::fs::metadata(file).and_then(|m| m.modified());
    if matches!((age(&lock), age(&stamp)), (Ok(lock), Ok(stamp)) if stamp >= lock) {
        return Ok(());
    }
    Tool::new("npm")
        .words("ci --no-audit --no-fund --loglevel=error")
        .within(paths::www())
        .quiet()?;
    Ok(())
}
