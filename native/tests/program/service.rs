//! A share as a service: its manager, its settings, its certificate, its terminal.

use std::os::unix::net::UnixDatagram;
use std::process::Command;

use serde_json::{Value, json};

use crate::program::terminal::Terminal;
use crate::program::{PATIENCE, Place, Running, Wire, lab_get};

/// The program without a terminal, as a service has none.
fn service(place: &Place, arguments: &[&str]) -> Command {
    let program = place.servent(arguments);
    let mut command = Command::new("setsid");
    command.arg(program.get_program()).args(program.get_args());
    command.env_clear().env("HOME", place.dir.path()).env("PATH", "/usr/bin:/bin");
    command.current_dir(place.dir.path()).stdin(std::process::Stdio::null());
    command
}

/// A share by the settings in `c.toml`, listening.
fn by_settings(place: &Place) -> Running {
    let share = ["share", "--config", "c.toml", "--state", "state", "--json"];
    let mut running = Running::start(service(place, &share));
    running.at = running.event("listening")["at"].as_str().unwrap().parse().unwrap();
    running.lab = lab_of(&mut running);
    running.event("hashed");
    running
}

fn lab_of(running: &mut Running) -> Option<std::net::SocketAddr> {
    let url = running.event("lab")["url"].as_str().unwrap().to_owned();
    url.strip_prefix("http://").unwrap().split('/').next().unwrap().parse().ok()
}

fn told(reloaded: &Value) -> (Value, Value) {
    (reloaded["taken"].clone(), reloaded["restart"].clone())
}

#[test]
fn a_closed_terminal_ends_a_command_as_ctrl_c_does() {
    let place = Place::new();
    place.share("film", 1_000);
    let mut share = vec!["share", "shared", "--state", "state", "--json"];
    share.extend(["--listen", "127.0.0.1:0", "--lab", "off"]);
    let (_terminal, mut running) = Terminal::start(&place.servent(&share));
    running.event("hashed");
    running.signal("HUP");
    assert_eq!(running.end().code(), Some(0), "it has said goodbye, and saved");
}

#[test]
fn a_service_reads_again_what_can_change_and_says_what_needs_a_restart() {
    let place = Place::new();
    place.share("film", 1_000);
    std::fs::create_dir(place.path("more")).unwrap();
    std::fs::write(place.path("more/song"), "la").unwrap();
    let fixed = "listen = ['127.0.0.1:0']\nlab = '127.0.0.1:0'\n";
    let settings = |text: &str| {
        std::fs::write(place.path("c.toml"), format!("{fixed}{text}")).unwrap();
    };
    settings("share = ['shared']\n");
    let mut running = by_settings(&place);
    settings("agent = 'x'\nshare = ['more']\nupload_rate = 100_000\n[queue]\nslots = 3\n");
    running.signal("HUP");
    let taken = json!(["share", "upload_rate", "queue.slots"]);
    assert_eq!(told(&running.event("reloaded")), (taken, json!(["agent"])));
    let status = |target| Wire::connect(running.at).get(target, &["Connection: close"]).status;
    assert_eq!((status("/more/song"), status("/shared/film")), (200, 404));
    let metrics = lab_get(running.lab.unwrap(), "/metrics").body;
    let metrics = String::from_utf8(metrics).unwrap();
    assert!(metrics.contains("servent_slots{servent=\"servent\"} 3"), "{metrics}");

    settings("share = ['more']\n[queue]\nslots = 'many'\n");
    running.signal("HUP");
    let why = running.event("not_reloaded")["why"].as_str().unwrap().to_owned();
    assert!(why.contains("`queue.slots` is a whole number"), "{why}");
    // What a run added is none of the settings, and one that is missing is told.
    settings("share = ['more', 'nowhere']\n[queue]\nslots = 3\n");
    running.signal("HUP");
    let told_of = running.event("reloaded");
    assert_eq!(told(&told_of), (json!(["share", "upload_rate"]), json!([])));
    assert!(told_of["missing"][0].as_str().unwrap().contains("nowhere"), "{told_of}");
    running.signal("INT");
    assert_eq!(running.end().code(), Some(0));
}

/// A certificate for 127.0.0.1 and a name that ends in so many days, and its key.
fn pair(days: u64, name: &str) -> (String, String) {
    let own = rcgen::KeyPair::generate().unwrap();
    let names = ["127.0.0.1", name].map(str::to_owned);
    let mut about = rcgen::CertificateParams::new(names).unwrap();
    let now = servent::Clock::new().now().as_micros() / 1_000_000;
    let length = std::time::Duration::from_secs(now + days * 86_400);
    about.not_after = rcgen::date_time_ymd(1970, 1, 1) + length;
    (about.self_signed(&own).unwrap().pem(), own.serialize_pem())
}

#[test]
fn a_renewed_certificate_is_served_and_a_broken_one_leaves_the_old() {
    let place = Place::new();
    place.share("film", 1_000);
    let (old, new) = (pair(10, "old.example"), pair(90, "new.example"));
    let put = |name: &str, text: &str| std::fs::write(place.path(name), text).unwrap();
    put("cert.pem", &old.0);
    put("key.pem", &old.1);
    put("old.pem", &old.0);
    put("new.pem", &new.0);
    put(
        "c.toml",
        "share = ['shared']\nlisten = ['127.0.0.1:0']\nlab = '127.0.0.1:0'\n\
         tls_cert = 'cert.pem'\ntls_key = 'key.pem'\n",
    );
    let mut running = by_settings(&place);
    let url = format!("https://{}/shared/film", running.at);
    let trusts = |cert: &str| {
        let mut curl = Command::new("curl");
        curl.args(["-sS", "--max-time", "60", "-o", "/dev/null", "--cacert"]);
        curl.arg(place.path(cert)).arg(&url).status().unwrap().success()
    };
    assert!(trusts("old.pem") && !trusts("new.pem"));
    let by_name = |name: &str| {
        let mut curl = Command::new("curl");
        curl.args(["-sSk", "--max-time", "60", "-o", "/dev/null", "-w", "%{http_code}"]);
        let output = curl.args(["-H", &format!("Host: {name}")]).arg(&url).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!((by_name("old.example"), by_name("new.example")), ("200".into(), "421".into()));
    let status = place.run(&["status", "--state", "state"]).stdout;
    let status = String::from_utf8(status).unwrap();
    assert!(status.contains("the certificate ends in 9 days"), "{status}");
    let metrics = String::from_utf8(lab_get(running.lab.unwrap(), "/metrics").body).unwrap();
    assert!(metrics.contains("servent_certificate_ends_seconds{"), "{metrics}");

    put("cert.pem", &new.0);
    running.signal("HUP");
    let kept = running.event("reloaded");
    assert!(kept["missing"][0].as_str().unwrap().contains("the old one is served"), "{kept}");
    assert!(trusts("old.pem"));
    put("key.pem", &new.1);
    running.signal("HUP");
    // It may have been found before, as it is looked at without a signal, too.
    running.event("reloaded");
    assert!(trusts("new.pem") && !trusts("old.pem"));
    assert_eq!(by_name("new.example"), "200", "its names are those of the new one");
}

#[test]
fn a_manager_of_services_hears_that_it_is_ready_and_that_it_lives() {
    let place = Place::new();
    place.share("film", 1_000);
    let manager = UnixDatagram::bind(place.path("notify")).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut share = vec!["share", "shared", "--state", "state", "--json"];
    share.extend(["--listen", "127.0.0.1:0", "--lab", "off"]);
    let mut command = service(&place, &share);
    command.env("NOTIFY_SOCKET", place.path("notify")).env("WATCHDOG_USEC", "200000");
    let mut running = Running::start(command);
    let hears = || {
        let mut told = [0; 64];
        let length = manager.recv(&mut told).unwrap();
        String::from_utf8_lossy(&told[..length]).into_owned()
    };
    assert_eq!([hears(), hears(), hears()], ["READY=1", "WATCHDOG=1", "WATCHDOG=1"]);
    running.event("listening");
}
