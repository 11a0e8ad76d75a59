//! `get` from servers that send us elsewhere, and from `https://`.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::program::{Place, assert_same, complains, noise};

/// What a server answers to a path: where to go, or a file.
#[derive(Clone)]
enum Page {
    Go(u16, String),
    File(Vec<u8>),
    /// In chunks, from the front whatever is asked; so many bytes, and then
    /// the end, or nothing more.
    Chunks(Vec<u8>, bool),
    /// Until the connection ends.
    Open(Vec<u8>),
}

type Pages = BTreeMap<String, Page>;

/// Answers the requests of one connection until its end.
fn answer(stream: impl Read + Write, pages: &Pages) {
    let mut stream = BufReader::new(stream);
    loop {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if !stream.read_line(&mut line).is_ok_and(|n| n > 0) {
                return;
            }
            if line.trim().is_empty() {
                break;
            }
            lines.push(line.trim().to_owned());
        }
        let target = lines[0].split(' ').nth(1).unwrap_or_default();
        let from: usize = lines
            .iter()
            .find_map(|line| line.strip_prefix("Range: bytes=")?.split('-').next()?.parse().ok())
            .unwrap_or(0);
        let reply = match pages.get(target) {
            Some(Page::Go(status, to)) => format!(
                "HTTP/1.1 {status} Elsewhere\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n"
            )
            .into_bytes(),
            Some(Page::File(bytes)) => {
                let (size, rest) = (bytes.len(), &bytes[from..]);
                let head = format!(
                    "HTTP/1.1 206 OK\r\nContent-Range: bytes {from}-{}/{size}\r\nContent-Length: {}\r\n\r\n",
                    size - 1,
                    rest.len()
                );
                [head.as_bytes(), rest].concat()
            }
            Some(Page::Chunks(bytes, whole)) => {
                let mut reply = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
                for (n, chunk) in bytes.chunks(10_007).enumerate() {
                    // A server that writes chunks may say more than their size.
                    let more = if n % 2 == 0 { "" } else { ";a=b" };
                    reply.extend(format!("{:x}{more}\r\n", chunk.len()).into_bytes());
                    reply.extend(chunk);
                    reply.extend(b"\r\n");
                }
                if *whole {
                    reply.extend(b"0\r\nX-Trailer: y\r\n\r\n");
                }
                let _ = stream.get_mut().write_all(&reply);
                if *whole {
                    continue;
                }
                return;
            }
            Some(Page::Open(bytes)) => {
                let _ = stream.get_mut().write_all(b"HTTP/1.0 200 OK\r\n\r\n");
                let _ = stream.get_mut().write_all(bytes);
                return;
            }
            None => b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n".to_vec(),
        };
        if stream.get_mut().write_all(&reply).and_then(|()| stream.get_mut().flush()).is_err() {
            return;
        }
    }
}

fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    (listener, at)
}

fn serve(listener: TcpListener, pages: Pages) {
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let pages = pages.clone();
            std::thread::spawn(move || answer(stream, &pages));
        }
    });
}

/// The certificate of a server alone, or of an authority too, as `openssl req -x509`
/// makes it.
const ALONE: IsCa = IsCa::NoCa;
const AUTHORITY: IsCa = IsCa::Ca(BasicConstraints::Unconstrained);

/// The same behind TLS; the certificate it shows, for `localhost`, and how many
/// connections were made.
fn serve_in_private(
    listener: TcpListener,
    pages: Pages,
    is_ca: IsCa,
) -> (String, Arc<AtomicUsize>) {
    let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    params.is_ca = is_ca;
    let signing_key = KeyPair::generate().unwrap();
    let cert = params.self_signed(&signing_key).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    let (config, count) = (Arc::new(config), Arc::new(AtomicUsize::new(0)));
    let connections = Arc::clone(&count);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            count.fetch_add(1, Relaxed);
            let (pages, config) = (pages.clone(), Arc::clone(&config));
            std::thread::spawn(move || {
                let tls = ServerConnection::new(config).unwrap();
                answer(StreamOwned::<_, TcpStream>::new(tls, stream), &pages);
            });
        }
    });
    let text = data_encoding::BASE64.encode(cert.der());
    let lines: Vec<&str> =
        text.as_bytes().chunks(64).map(|line| str::from_utf8(line).unwrap()).collect();
    let lines = lines.join("\n");
    let pem = format!("-----BEGIN CERTIFICATE-----\n{lines}\n-----END CERTIFICATE-----\n");
    (pem, connections)
}

fn go(status: u16, to: &str) -> Page {
    Page::Go(status, to.to_owned())
}

#[test]
fn every_kind_of_redirect_is_followed_and_shown_across_hosts_too() {
    let place = Place::new();
    let bytes = noise(300_000);
    let ((one, first), (two, second)) = (listen(), listen());
    let pages = [
        ("/start", go(301, "/a/b?x")),
        ("/a/b?x", go(302, "c")),
        ("/a/c", go(303, &format!("//{second}/d"))),
    ];
    serve(one, pages.map(|(path, page)| (path.to_owned(), page)).into());
    let pages = [
        ("/d", go(307, "e%20f")),
        ("/e%20f", go(308, &format!("http://{second}/file"))),
        ("/file", Page::File(bytes.clone())),
    ];
    serve(two, pages.map(|(path, page)| (path.to_owned(), page)).into());
    let url = format!("http://{first}/start");
    let output = place.run(&["get", &url, "-o", "file", "--state", "get"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert_same(&place.path("file"), &bytes);
    assert!(said.contains(&format!("{first} sends us to /a/b?x")), "{said}");
    assert!(said.contains(&format!("{second} sends us to http://{second}/file")), "{said}");
}

#[test]
fn a_server_that_sends_us_round_in_circles_or_nowhere_is_given_up_at_once() {
    let place = Place::new();
    let (listener, at) = listen();
    let pages = [
        ("/round", go(302, "/round?")),
        ("/round?", go(302, "/round")),
        ("/again", go(307, "/again")),
        ("/no", go(302, "file:///etc/passwd")),
    ];
    let mut pages: Pages = pages.map(|(path, page)| (path.to_owned(), page)).into();
    pages.extend((0..11).map(|n| (format!("/many/{n}"), go(302, &format!("/many/{}", n + 1)))));
    serve(listener, pages);
    for (path, why) in [
        ("round", "redirects in a circle"),
        ("again", "redirects in a circle"),
        ("no", "sends us to where nothing can be had"),
        ("many/0", "redirects too many times"),
    ] {
        let url = format!("http://{at}/{path}");
        let output = place.run(&["get", &url, "-o", "file", "--state", "get"]);
        complains(&output, 3, why);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("what has come is kept"), "nothing has come: {said}");
    }
}

#[test]
fn what_speaks_another_protocol_is_known_by_its_first_words() {
    let place = Place::new();
    let (listener, at) = listen();
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.write_all(b"SSH-2.0-OpenSSH_10.0\r\n");
            kept.push(stream);
        }
    });
    let url = format!("http://{at}/file");
    let output = place.run(&["get", &url, "-o", "file", "--state", "get"]);
    complains(&output, 3, "sent what is not HTTP");
}

#[test]
fn private_files_come_only_from_servers_we_trust() {
    let place = Place::new();
    let bytes = noise(700_000);
    let ((plain, http), (private, https)) = (listen(), listen());
    let port = https.port();
    let pages =
        [("/file", Page::File(bytes.clone())), ("/down", go(302, &format!("http://{http}/file")))];
    let (certificate, _) = serve_in_private(
        private,
        pages.map(|(path, page)| (path.to_owned(), page)).into(),
        AUTHORITY,
    );
    std::fs::write(place.path("ca.pem"), certificate).unwrap();
    let pages =
        [("/up", go(302, &format!("https://localhost:{port}/file"))), ("/file", go(404, ""))];
    serve(plain, pages.map(|(path, page)| (path.to_owned(), page)).into());
    let get = |url: &str, to: &str, more: &[&str]| {
        place.run(&[&["get", url, "-o", to, "--state", "get"], more].concat())
    };
    let trusted = ["--ca-file", "ca.pem"];
    for (to, url) in [
        ("straight", format!("https://localhost:{port}/file")),
        ("sent", format!("http://{http}/up")),
    ] {
        let output = get(&url, to, &trusted);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_same(&place.path(to), &bytes);
    }
    // No certificate vouches for it, or it is another server's: told at once.
    let output = get(&format!("https://localhost:{port}/file"), "x", &[]);
    complains(&output, 5, "is not to be trusted");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!said.contains("hung up"), "it did not: {said}");
    complains(
        &get(&format!("https://127.0.0.1:{port}/file"), "x", &trusted),
        5,
        "is not to be trusted",
    );
    // No client is sent out of TLS.
    complains(
        &get(&format!("https://localhost:{port}/down"), "x", &trusted),
        3,
        "sends us to where",
    );
    let output = get(&format!("https://localhost:{port}/file"), "x", &["--ca-file", "none"]);
    complains(&output, 4, "cannot read none");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!said.contains("hung up"), "no server was asked: {said}");
    assert!(!place.path("x").exists());
}

#[test]
fn a_list_of_private_files_needs_few_connections_and_a_liar_among_them_is_left_out() {
    const FILES: usize = 40;
    let place = Place::new();
    let ((honest, one), (liar, other)) = (listen(), listen());
    let bytes = |n: usize| noise(20_000 + n);
    let pages: Pages = (0..FILES).map(|n| (format!("/{n}"), Page::File(bytes(n)))).collect();
    let (certificate, connections) = serve_in_private(honest, pages.clone(), ALONE);
    std::fs::write(place.path("ca.pem"), certificate).unwrap();
    serve_in_private(liar, pages, ALONE);
    let mut list: Vec<String> =
        (0..FILES).map(|n| format!("https://localhost:{}/{n}\n", one.port())).collect();
    list.extend((0..9).map(|n| format!("https://localhost:{}/x{n}\n", other.port())));
    std::fs::write(place.path("list.txt"), list.concat()).unwrap();
    let get = ["get", "-i", "list.txt", "-o", "here/", "--ca-file", "ca.pem", "--state", "get"];
    let clock = servent::Clock::new();
    let begun = clock.now();
    let output = place.run(&get);
    complains(&output, 10, "9 of 49 downloads failed");
    complains(&output, 10, &format!("localhost:{} is not to be trusted", other.port()));
    for n in 0..FILES {
        assert_same(&place.path("here").join(n.to_string()), &bytes(n));
    }
    let made = connections.load(Relaxed);
    assert!(made <= 10, "{made} connections for {FILES} files");
    let took = clock.now().since(begun).as_secs();
    assert!(took < 15, "it waits for a server that is not trusted");
}

#[test]
fn a_file_of_unknown_length_is_taken_to_its_end() {
    let place = Place::new();
    let bytes = noise(300_000);
    let (listener, at) = listen();
    let pages = [
        ("/chunks", Page::Chunks(bytes.clone(), true)),
        ("/open", Page::Open(bytes.clone())),
        ("/nothing", Page::Chunks(Vec::new(), true)),
        ("/torn", Page::Chunks(bytes.clone(), false)),
    ];
    serve(listener, pages.map(|(path, page)| (path.to_owned(), page)).into());
    for (name, wanted) in [("chunks", &bytes[..]), ("open", &bytes), ("nothing", b"")] {
        let url = format!("http://{at}/{name}");
        let output = place.run(&["get", &url, "-o", name, "--state", "get"]);
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        assert_same(&place.path(name), wanted);
    }
    // Without its last chunk it is not whole, however often it is asked for.
    let url = format!("http://{at}/torn");
    let get = ["get", &url, "-o", "torn", "--state", "get", "--time-scale", "50"];
    let output = place.run(&[&get[..], &["--set", "fetch.attempts=2"]].concat());
    complains(&output, 3, "hung up");
    assert!(!place.path("torn").exists(), "a part was taken for the whole");
}
