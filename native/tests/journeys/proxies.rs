//! `get` through the proxy of a company: the names of servers are known to the proxy
//! alone.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Output, Stdio};
use std::sync::{Arc, Mutex};

use data_encoding::BASE32;
use sha1::{Digest as _, Sha1};

use crate::program::{Place, assert_same, complains, finish, free_port};
use crate::web::{Reply, Web};

/// A name that no system knows.
const HOST: &str = "files.servent.invalid";
const LOGIN: &str = "Proxy-Authorization: Basic YW5uOnBlbg==";

/// A proxy that leads to one server, whatever is asked.
struct TestProxy {
    at: SocketAddr,
    /// The first lines of the requests.
    asked: Arc<Mutex<Vec<String>>>,
}

impl TestProxy {
    /// `login`: a line that requests must have.
    fn start(to: SocketAddr, login: Option<&'static str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let all = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let all = Arc::clone(&all);
                std::thread::spawn(move || answer(stream, to, login, &all));
            }
        });
        Self { at, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn answer(
    stream: TcpStream,
    to: SocketAddr,
    login: Option<&str>,
    all: &Mutex<Vec<String>>,
) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    let mut server: Option<TcpStream> = None;
    loop {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            match line.trim() {
                "" => break,
                line => lines.push(line.to_owned()),
            }
        }
        all.lock().unwrap().push(lines[0].clone());
        if login.is_some_and(|login| !lines.iter().any(|line| line == login)) {
            let refusal =
                "HTTP/1.1 407 Who?\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n";
            stream.write_all(refusal.as_bytes()).ok()?;
            continue;
        }
        lines.retain(|line| !line.starts_with("Proxy-"));
        if lines[0].starts_with("CONNECT ") {
            let server = TcpStream::connect(to).ok()?;
            stream.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").ok()?;
            return pass_on(stream, server);
        }
        lines[0] = lines[0].replace(&format!("http://{HOST}"), "");
        if server.is_none() {
            let made = TcpStream::connect(to).ok()?;
            let (back, mut front) = (made.try_clone().unwrap(), stream.try_clone().unwrap());
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut &back, &mut front);
                let _ = front.shutdown(std::net::Shutdown::Both); // The server hung up.
            });
            server = Some(made);
        }
        let head = format!("{}\r\n\r\n", lines.join("\r\n"));
        server.as_mut()?.write_all(head.as_bytes()).ok()?;
    }
}

/// Bytes both ways, until one side ends.
fn pass_on(client: TcpStream, server: TcpStream) -> Option<()> {
    let (mut from, mut to) = (client.try_clone().ok()?, server.try_clone().ok()?);
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(std::net::Shutdown::Both);
    });
    let (mut from, mut to) = (server, client);
    let mut buffer = [0; 16 * 1024];
    loop {
        let n = from.read(&mut buffer).ok().filter(|n| *n > 0)?;
        to.write_all(&buffer[..n]).ok()?;
    }
}

fn get(place: &Place, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = place.servent(&[&["get"], arguments, &["--state", "get"]].concat());
    command.envs(variables.iter().copied());
    finish(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}

#[track_caller]
fn succeeds(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_file_and_a_folder_come_through_a_proxy_that_wants_a_password() {
    let place = Place::new();
    let (_, bytes) = place.share("song.flac", 300_000);
    let server = place.sharing(&["--name", HOST]);
    let proxy = TestProxy::start(server.at, Some(LOGIN));
    let url = format!("http://ann:pen@{}", proxy.at);
    let through = [("http_proxy", &url[..]), ("HTTP_PROXY", "http://127.0.0.1:1")];
    let file = format!("http://{HOST}/shared/song.flac");
    succeeds(&get(&place, &[&file, "-o", "one"], &through));
    assert_same(&place.path("one"), &bytes);
    let first = format!("GET http://{HOST}/shared/song.flac HTTP/1.1");
    assert_eq!(proxy.asked().first(), Some(&first));
    succeeds(&get(&place, &[&format!("http://{HOST}/shared/"), "-o", "all/"], &through));
    assert_same(&place.path("all/shared/song.flac"), &bytes);

    // What the server says is not the proxy's fault.
    let gone = format!("http://{HOST}/shared/gone");
    let refused = get(&place, &[&gone, "-o", "two"], &through);
    complains(&refused, 9, &format!("the server behind the proxy {} has no such file", proxy.at));

    // Without its password, and without any proxy.
    let direct = [("http_proxy", &format!("http://{}", proxy.at)[..])];
    let refused = get(&place, &[&file, "-o", "two"], &direct);
    complains(&refused, 9, "the proxy wants a name and a password");
    complains(&refused, 9, "HTTP status 407");
    let direct = [("http_proxy", &url[..]), ("no_proxy", "x, .servent.invalid")];
    complains(&get(&place, &[&file, "-o", "two"], &direct), 3, &format!("cannot find {HOST}"));
    // This machine is never asked through a proxy.
    let here = format!("http://{}/shared/song.flac", server.at);
    let dead = format!("http://127.0.0.1:{}", free_port());
    succeeds(&get(&place, &[&here, "-o", "two"], &[("all_proxy", &dead)]));
    let refused = get(&place, &[&file, "-o", "three"], &[("all_proxy", &dead)]);
    complains(&refused, 3, "the proxy 127.0.0.1:");
}

/// The proxy is on this machine; what it leads to is not.
#[test]
fn a_server_behind_a_proxy_leads_no_client_into_its_own_machine() {
    let place = Place::new();
    let (_, secret) = place.share("secret", 1_000);
    let inner = Web::start(move |request| Reply::file(request, &secret, &[]));
    let to = format!("Location: {}", inner.url("/secret"));
    let outer = Web::start(move |_| Reply::new("302 Found", &[&to], b""));
    let proxy = TestProxy::start(outer.at, None);
    let through = format!("http://{}", proxy.at);
    let file = format!("http://{HOST}/film");
    let refused = get(&place, &[&file, "-o", "film"], &[("http_proxy", &through)]);
    assert!(!refused.status.success(), "{refused:?}");
    assert!(inner.asked().is_empty(), "{:?}", inner.asked());
    assert!(!outer.asked().is_empty() && !place.path("film").exists());
}

/// Neither by a redirect nor as another source of the file.
#[test]
fn a_server_behind_a_proxy_names_no_source_in_their_own_machine() {
    let place = Place::new();
    let (_, bytes) = place.share("song", 200_000);
    let file = bytes.clone();
    let inner = Web::start(move |request| Reply::file(request, &file, &[]));
    let urn = format!("urn:sha1:{}", BASE32.encode(&Sha1::digest(&bytes)));
    let fields = [
        format!("X-Gnutella-Content-URN: {urn}"),
        format!("X-Alt: {}", inner.at),
        "ETag: \"1\"".to_owned(),
    ];
    // Of a first answer only the half comes: another source is welcome.
    let half = move || {
        let (bytes, fields) = (bytes.clone(), fields.clone());
        Web::start(move |request| {
            let reply = Reply::file(request, &bytes, &fields.each_ref().map(String::as_str));
            if request.before == 0 { reply.cut_off(100_000) } else { reply }
        })
    };
    let far = half();
    let proxy = TestProxy::start(far.at, None);
    let through = format!("http://{}", proxy.at);
    let file = format!("http://{HOST}/song");
    succeeds(&get(&place, &[&file, "-o", "song"], &[("http_proxy", &through)]));
    assert!(inner.asked().is_empty(), "{:?}", inner.asked());
    // One that is asked directly is of this machine, and may name others that are.
    succeeds(&get(&place, &[&half().url("/song"), "-o", "two"], &[]));
    assert!(!inner.asked().is_empty());
}

#[test]
fn a_private_file_comes_through_a_tunnel() {
    let place = Place::new();
    let (_, bytes) = place.share("film", 700_000);
    let server = place.sharing(&["--name", HOST, "--tls-self-made", "--lab", "off"]);
    let proxy = TestProxy::start(server.at, None);
    let refusing = TestProxy::start(server.at, Some(LOGIN));
    let file = format!("https://{HOST}/shared/film");
    let cert = place.path("state/tls-cert.pem");
    let pin = crate::program::pin_of(&cert);
    let through = format!("http://{}", proxy.at);
    let arguments = [&file, "-o", "film", "--pin", &pin];
    succeeds(&get(&place, &arguments, &[("HTTPS_PROXY", &through)]));
    assert_same(&place.path("film"), &bytes);
    // The file, and its hash tree: nothing of it is asked for in plain.
    let connect = format!("CONNECT {HOST}:443 HTTP/1.1");
    assert!(proxy.asked().iter().all(|asked| *asked == connect) && !proxy.asked().is_empty());
    let arguments = [&file, "-o", "two", "--pin", &pin];
    let refused = get(&place, &arguments, &[("https_proxy", &format!("http://{}", refusing.at))]);
    complains(&refused, 9, "the proxy wants a name and a password");
    let other = [("https_proxy", "socks5://10.0.0.1:1080")];
    complains(
        &get(&place, &arguments, &other),
        2,
        "https_proxy names a proxy that we do not speak",
    );
}
