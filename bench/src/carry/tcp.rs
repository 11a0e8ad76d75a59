//! TCP: the ceiling, with congestion control of the kernel.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use anyhow::{Result, bail};

use crate::meter::{Frames, Meter, framed, ready, when_stopped};
use crate::words::{Counted, Job, Ready};

pub(crate) fn receive(job: &Job) -> Result<Counted> {
    let listener = TcpListener::bind((job.on, 0))?;
    ready(listener.local_addr()?, Vec::new())?;
    let (mut stream, _) = listener.accept()?;
    let (mut buffer, mut frames, mut meter) =
        (vec![0; 64 * 1024], Frames::default(), Meter::new(job));
    loop {
        let n = stream.read(&mut buffer)?;
        if n == 0 {
            bail!("the sender closed");
        }
        if let Some(counted) = meter.count(frames.take(&buffer[..n])) {
            return Ok(counted);
        }
    }
}

pub(crate) fn send(algorithm: &str, job: &Job, to: &Ready) -> Result<()> {
    when_stopped(|| ());
    let bytes = framed(job.size)?;
    let mut stream = TcpStream::connect(to.at)?;
    socket2::SockRef::from(&stream).set_tcp_congestion(algorithm.as_bytes())?;
    // It ends when it is told to stop, or when the receiver has seen enough.
    while stream.write_all(&bytes).is_ok() {}
    std::thread::park();
    Ok(())
}
