//! A stranger behind nginx: the share stands under a prefix of a site, with TLS in
//! front, and everything that is done with a share is done from there.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use rcgen::{CertifiedKey, generate_simple_self_signed};

use crate::program::{
    Place, Running, assert_same, complains, finish, free_port, lab_get, noise, until,
};

const NGINX: &str = "/usr/sbin/nginx";

/// nginx before a share; ended with the test.
struct Site {
    nginx: Child,
    place: Place,
    share: Running,
    port: u16,
}

impl Drop for Site {
    fn drop(&mut self) {
        // Its worker ends with it only when it is asked to.
        let _ = Command::new("kill").arg(self.nginx.id().to_string()).status();
        let _ = self.nginx.wait();
    }
}

impl Site {
    /// `None` where there is no nginx.
    fn start(share: &[&str]) -> Option<(Self, [Vec<u8>; 3])> {
        if !Path::new(NGINX).exists() {
            println!("left out: nginx is not installed");
            return None;
        }
        let place = Place::new();
        let (_, song) = place.share("song #1.flac", 300_000);
        let (film, cover) = (noise(400_001), noise(20_000));
        std::fs::create_dir_all(place.path("shared/Filme & mehr/Übung")).unwrap();
        std::fs::write(place.path("shared/Filme & mehr/film.mkv"), &film).unwrap();
        std::fs::write(place.path("shared/Filme & mehr/Übung/100%.jpg"), &cover).unwrap();
        let share = place.sharing(&[&["--accept", "inbox"], share].concat());
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        std::fs::write(place.path("cert.pem"), cert.pem()).unwrap();
        std::fs::write(place.path("key.pem"), signing_key.serialize_pem()).unwrap();
        let (port, folder) = (free_port(), place.dir.path().display().to_string());
        std::fs::set_permissions(place.dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let conf = format!(
            "daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
            events {{ }}
            http {{
              access_log off; client_max_body_size 0;
              client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
              fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
              server {{
                listen 127.0.0.1:{port} ssl; server_name localhost;
                ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
                location /files/ {{ proxy_pass http://{}/; }}
                location / {{ return 404; }}
              }}
            }}",
            share.at
        );
        std::fs::write(place.path("nginx.conf"), conf).unwrap();
        let conf = place.path("nginx.conf");
        let nginx = Command::new(NGINX)
            .args(["-p", &folder, "-c", conf.to_str().unwrap()])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let site = Self { nginx, place, share, port };
        until("nginx listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
        Some((site, [song, film, cover]))
    }

    fn url(&self, path: &str) -> String {
        format!("https://localhost:{}/files/{path}", self.port)
    }

    fn curl(&self, arguments: &[&str]) -> Output {
        let mut curl = Command::new("curl");
        curl.args(["-sS", "--max-time", "60", "--cacert", "cert.pem"]).args(arguments);
        curl.current_dir(self.place.dir.path()).output().unwrap()
    }

    fn text(&self, arguments: &[&str]) -> String {
        let output = self.curl(arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// `servent get`, begun.
    fn get(&self, path: &str, to: &str, state: &str) -> Child {
        let arguments = ["get", &self.url(path), "-o", to, "--ca-file", "cert.pem"];
        let mut command = self.place.servent(&[&arguments[..], &["--state", state]].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    #[track_caller]
    fn gets(&self, path: &str, to: &str) {
        let output = finish(self.get(path, to, "get"));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// What the links of a page lead to.
fn links(page: &str) -> Vec<String> {
    let parts = page.split("href=\"").skip(1);
    parts.map(|part| part.split('"').next().unwrap().replace("&amp;", "&")).collect()
}

#[test]
fn a_stranger_behind_nginx_under_a_prefix_with_tls() {
    let Some((site, [song, film, cover])) = Site::start(&[]) else { return };
    // Pages: what a browser follows stays under the prefix, and leads to something.
    let top = site.text(&["-L", &site.url("")]);
    for link in links(&top) {
        let local = !link.starts_with('/') && !link.contains("://") || link.starts_with("data:");
        assert!(local, "{link} leads out of the prefix");
    }
    let folders = links(&top).into_iter().map(|link| link.trim_start_matches("./").to_owned());
    let folder = folders.into_iter().find(|link| link == "shared/").unwrap();
    // Without its slash, too: the redirect stays where the visitor is.
    let at = site.url(folder.trim_end_matches('/'));
    let landed = site.text(&["-L", "-o", "page", "-w", "%{url_effective} %{http_code}", &at]);
    assert_eq!(landed, format!("{} 200", site.url("shared/")));
    let page = std::fs::read_to_string(site.place.path("page")).unwrap();
    assert!(page.contains("song #1.flac"), "{page}");
    // The list names files where they are.
    let list = site.text(&[&site.url("shared/?list=relative")]);
    let files: Vec<&str> = list.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(files.len(), 3, "{list}");
    for file in files {
        let at = site.url(&format!("shared/{file}"));
        let out = site.text(&["-o", "one", "-w", "%{http_code}", &at]);
        assert_eq!(out, "200", "{file}");
    }
    // One file, resumed, a folder, the same folder again, an archive.
    site.gets("shared/song%20%231.flac", "song");
    assert_same(&site.place.path("song"), &song);
    site.gets("shared/", "all/");
    let all = site.place.path("all/shared");
    assert_same(&all.join("song #1.flac"), &song);
    assert_same(&all.join("Filme & mehr/film.mkv"), &film);
    assert_same(&all.join("Filme & mehr/Übung/100%.jpg"), &cover);
    let again = finish(site.get("shared/", "all/", "get"));
    assert!(String::from_utf8_lossy(&again.stderr).contains("3 there already"), "{again:?}");
    site.gets("shared/?tar", "shared.tar");
    let names = Command::new("tar").arg("tf").arg(site.place.path("shared.tar")).output().unwrap();
    let names = String::from_utf8_lossy(&names.stdout).into_owned();
    assert!(names.contains("song #1.flac") && names.lines().count() >= 3, "{names}");
    complains(&finish(site.get("shared/none", "none", "get")), 9, "HTTP status 404");
    // An upload by the page's address.
    std::fs::write(site.place.path("photo.jpg"), &cover).unwrap();
    let kept = site.text(&["-T", "photo.jpg", "-w", " %{http_code}", &site.url("")]);
    assert!(kept.ends_with("201"), "{kept}");
    assert_same(&site.place.path("inbox/photo.jpg"), &cover);
}

#[test]
fn a_queue_behind_nginx_serves_one_after_the_other() {
    let slow = ["--slots", "1", "--limit-rate", "300k", "--set", "queue.per_ip=9"];
    let Some((site, [song, film, cover])) = Site::start(&slow) else { return };
    let running: Vec<Child> = [
        ("shared/song%20%231.flac", "0"),
        ("shared/Filme%20%26%20mehr/film.mkv", "1"),
        ("shared/Filme%20%26%20mehr/%C3%9Cbung/100%25.jpg", "2"),
    ]
    .map(|(path, to)| site.get(path, to, &format!("get-{to}")))
    .into();
    let lab = site.share.lab.unwrap();
    until("a client waits in line", || {
        lab_get(lab, "/api/view").json()["queue"]["length"].as_u64().is_some_and(|n| n > 0)
    });
    for get in running {
        let output = finish(get);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    for (to, bytes) in [("0", song), ("1", film), ("2", cover)] {
        assert_same(&site.place.path(to), &bytes);
    }
}
