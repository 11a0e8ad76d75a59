//! A web server that does what a test wants: it keeps what it was asked, and
//! answers each request with what a function makes of it.
#![allow(dead_code, reason = "every test file uses its own part of this")]

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A request.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) target: String,
    fields: Vec<(String, String)>,
    /// How many requests the server had before this one.
    pub(crate) before: usize,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut fields = self.fields.iter();
        fields.find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| &value[..])
    }

    /// The range that is asked for, of a file of that size.
    fn range(&self, size: usize) -> Option<(usize, usize)> {
        let (start, last) = self.header("Range")?.strip_prefix("bytes=")?.split_once('-')?;
        let end = last.parse().map_or(size, |last: usize| size.min(last + 1));
        Some((start.parse().ok()?, end))
    }
}

/// What is answered.
pub(crate) struct Reply {
    bytes: Vec<u8>,
    hangs_up: bool,
}

impl Reply {
    /// A status, more lines of the head, and a body.
    pub(crate) fn new(status: &str, fields: &[&str], body: &[u8]) -> Self {
        let mut head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n", body.len());
        fields.iter().for_each(|field| head.push_str(&format!("{field}\r\n")));
        Self { bytes: [head.as_bytes(), b"\r\n", body].concat(), hangs_up: false }
    }

    /// Exactly these bytes, and then the end of the connection.
    pub(crate) fn raw(bytes: &[u8]) -> Self {
        Self { bytes: bytes.to_vec(), hangs_up: true }
    }

    /// The range that was asked for, or all.
    pub(crate) fn file(request: &Request, file: &[u8], fields: &[&str]) -> Self {
        match request.range(file.len()) {
            Some((start, end)) if start < end => {
                let range = format!("Content-Range: bytes {start}-{}/{}", end - 1, file.len());
                let fields = [&[&range[..]], fields].concat();
                Self::new("206 Partial Content", &fields, &file[start..end])
            }
            Some(_) => {
                let range = format!("Content-Range: bytes */{}", file.len());
                Self::new("416 Range Not Satisfiable", &[&range], b"")
            }
            None => Self::new("200 OK", fields, file),
        }
    }

    /// Hangs up before so many bytes of it were sent.
    pub(crate) fn cut_off(mut self, bytes: usize) -> Self {
        self.bytes.truncate(self.bytes.len() - bytes);
        self.hangs_up = true;
        self
    }

    /// The end of the connection follows.
    pub(crate) fn last(mut self) -> Self {
        self.hangs_up = true;
        self
    }
}

/// A server that runs until the test ends.
pub(crate) struct Web {
    pub(crate) at: SocketAddr,
    asked: Arc<Mutex<Vec<Request>>>,
}

impl Web {
    /// Serves at a free port of loopback.
    pub(crate) fn start(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").unwrap(), answer)
    }

    pub(crate) fn on(
        listener: TcpListener,
        answer: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let at = listener.local_addr().unwrap();
        let asked: Arc<Mutex<Vec<Request>>> = Arc::default();
        let (all, answer) = (Arc::clone(&asked), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (all, answer) = (Arc::clone(&all), Arc::clone(&answer));
                std::thread::spawn(move || serve(stream, &all, &*answer));
            }
        });
        Self { at, asked }
    }

    /// What it was asked so far.
    pub(crate) fn asked(&self) -> Vec<Request> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.at)
    }
}

fn serve(stream: TcpStream, all: &Mutex<Vec<Request>>, answer: &dyn Fn(&Request) -> Reply) {
    let mut stream = BufReader::new(stream);
    while let Some(mut request) = read(&mut stream) {
        {
            let mut all = all.lock().unwrap();
            request.before = all.len();
            all.push(request.clone());
        }
        let Reply { bytes, hangs_up } = answer(&request);
        if stream.get_mut().write_all(&bytes).is_err() || hangs_up {
            return;
        }
    }
}

/// Reads the head of a request.
pub(crate) fn read(stream: &mut BufReader<impl Read + Write>) -> Option<Request> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let mut first = lines.first()?.split(' ').map(str::to_owned);
    let (method, target) = (first.next()?, first.next()?);
    let field = |line: &String| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_owned(), value.trim().to_owned()))
    };
    Some(Request {
        method,
        target,
        fields: lines[1..].iter().filter_map(field).collect(),
        before: 0,
    })
}
