//! A route from page to page that leads through no server: a data channel, unordered
//! and without retransmissions (WB-4). It carries datagrams; what makes bytes
//! arrive in order and once is UNICAST3 of the node, so all of it is on the tape.
//!
//! Two pages arrange it through the servent: the page that dials opens
//! `/servent/signal/ADDRESS`, the other is told on its line and answers with the
//! ticket, as for any call. Then both say what is in `signal`.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::rc::{Rc, Weak};

use futures::StreamExt as _;
use futures::channel::{mpsc, oneshot};
use js_sys::{Array, ArrayBuffer, Reflect, Uint8Array};
use servent_core::id::ConnId;
use servent_core::unicast::UnicastPayload;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{
    BinaryType, MessageEvent, RtcConfiguration, RtcDataChannel, RtcDataChannelInit,
    RtcDataChannelType, RtcIceCandidateInit, RtcIceServer, RtcPeerConnection,
    RtcPeerConnectionIceEvent, RtcPeerConnectionState, RtcSdpType, RtcSessionDescriptionInit,
    WebSocket,
};

use super::host::{Happened, PageHost};
use super::signal::{Signal, Signals};
use super::socket::{MESSAGE, PROTOCOL, sleep};

/// How long a channel may take to open once the other page has answered, in
/// milliseconds. After that the servent passes the bytes on.
const OPENS: i32 = 8_000;
/// How long what is unsent may take at the end, in milliseconds.
pub(super) const LINGER: i32 = 5_000;
/// After this many more the browser forgets a channel that is closed: its last
/// datagrams are on their way until then. In milliseconds.
const FORGET: i32 = 1_000;
/// Bytes that the browser may hold unsent; a datagram beyond that is lost, as it
/// would be in a network.
const UNSENT: u32 = 4 << 20;

type SharedChannel = Rc<RefCell<PageHost>>;
type Listener = Closure<dyn FnMut(JsValue)>;

/// A channel, from the first signal on.
pub(super) struct Channel {
    /// The other end, for the node's datagrams: no two channels share one.
    pub(super) peer: SocketAddr,
    signals: WebSocket,
    heard: Signals,
    /// The other page has answered.
    pub(super) answered: bool,
    /// It has said how to speak.
    pub(super) described: bool,
    arranged: Option<Arranged>,
    /// What is not in the node's send window yet.
    pub(super) out: VecDeque<UnicastPayload>,
    /// The send window is full.
    pub(super) full: bool,
    /// The host is about to send what is in `out`.
    pub(super) due: bool,
    /// The reader of a file waits for room.
    room: Option<oneshot::Sender<()>>,
    /// It is closed as soon as the other end has everything.
    pub(super) ends: bool,
    /// Messages and bytes that were received and not taken yet.
    pub(super) owed: (u64, u64),
    _events: [Listener; 2],
}

/// The browser's side of it.
struct Arranged {
    rtc: RtcPeerConnection,
    data: RtcDataChannel,
    say: mpsc::UnboundedSender<Signal>,
    _events: Vec<Listener>,
}

/// True where the browser has channels.
pub(super) fn is_possible() -> bool {
    web_sys::window()
        .is_some_and(|it| Reflect::has(&it, &"RTCPeerConnection".into()).unwrap_or(false))
}

/// A listener that tells the host.
fn listener(host: &SharedChannel, then: impl Fn(JsValue) -> Happened + 'static) -> Listener {
    let host: Weak<RefCell<PageHost>> = Rc::downgrade(host);
    Closure::new(move |event: JsValue| {
        if let Some(host) = host.upgrade() {
            PageHost::happened(&host, [then(event)]);
        }
    })
}

fn bytes(event: JsValue) -> Uint8Array {
    let data = event.unchecked_into::<MessageEvent>().data();
    Uint8Array::new(data.unchecked_ref::<ArrayBuffer>())
}

impl Channel {
    /// Speaks with the page behind `url` about a channel to `peer`.
    pub(super) fn signal(
        host: &SharedChannel,
        conn: ConnId,
        url: &str,
        peer: SocketAddr,
    ) -> Result<Self, JsValue> {
        let signals = WebSocket::new_with_str(url, PROTOCOL)?;
        signals.set_binary_type(BinaryType::Arraybuffer);
        let message = listener(host, move |event| Happened::Signal(conn, bytes(event)));
        let closed = listener(host, move |_| Happened::SignalsOver(conn));
        signals.set_onmessage(Some(message.as_ref().unchecked_ref()));
        signals.set_onclose(Some(closed.as_ref().unchecked_ref()));
        Ok(Self {
            peer,
            signals,
            heard: Signals::default(),
            answered: false,
            described: false,
            arranged: None,
            out: VecDeque::new(),
            full: false,
            due: false,
            room: None,
            ends: false,
            owed: (0, 0),
            _events: [message, closed],
        })
    }

    /// The other page is there: the two arrange the channel from now on. Who
    /// `calls` begins.
    pub(super) fn arrange(
        &mut self,
        host: &SharedChannel,
        (conn, calls): (ConnId, bool),
        stun: Option<&str>,
    ) -> Result<(), JsValue> {
        self.answered = true;
        let rtc = RtcPeerConnection::new_with_configuration(&configuration(stun))?;
        // Both ends make it, so that nothing has to be said about it.
        let how = RtcDataChannelInit::new();
        how.set_ordered(false);
        how.set_max_retransmits(0);
        how.set_negotiated(true);
        how.set_id(0);
        let data = rtc.create_data_channel_with_data_channel_dict("servent.1", &how);
        data.set_binary_type(RtcDataChannelType::Arraybuffer);
        let opened = listener(host, move |_| Happened::Opened(conn));
        let closed = listener(host, move |_| Happened::ChannelOver(conn));
        let message = listener(host, move |event| Happened::Datagram(conn, bytes(event)));
        data.set_onopen(Some(opened.as_ref().unchecked_ref()));
        data.set_onclose(Some(closed.as_ref().unchecked_ref()));
        data.set_onmessage(Some(message.as_ref().unchecked_ref()));
        let (found, changed) = watch(host, conn, &rtc, &self.signals);
        rtc.set_onicecandidate(Some(found.as_ref().unchecked_ref()));
        rtc.set_onconnectionstatechange(Some(changed.as_ref().unchecked_ref()));
        let (say, told) = mpsc::unbounded();
        let (of, signals, host) = (rtc.clone(), self.signals.clone(), Rc::clone(host));
        let weak = Rc::downgrade(&host);
        spawn_local(async move {
            if negotiate(&of, &signals, calls, told).await.is_err()
                && let Some(host) = weak.upgrade()
            {
                PageHost::happened(&host, [Happened::NoChannel(conn)]);
            }
        });
        spawn_local(async move {
            sleep(OPENS).await;
            PageHost::happened(&host, [Happened::NoChannel(conn)]);
        });
        let _events = vec![opened, closed, message, found, changed];
        self.arranged = Some(Arranged { rtc, data, say, _events });
        Ok(())
    }

    /// Reads what the other page says.
    pub(super) fn hear(&mut self, data: &[u8]) -> SignalOutcome {
        let Some(all) = self.heard.read(data) else { return SignalOutcome::Nonsense };
        for signal in all {
            match (&signal, &self.arranged) {
                (Signal::No, _) => return SignalOutcome::No,
                // A page that has not answered has asked for nothing.
                (_, None) => return SignalOutcome::Nonsense,
                (_, Some(arranged)) => {
                    self.described |= matches!(signal, Signal::Session(_));
                    let _ = arranged.say.unbounded_send(signal);
                }
            }
        }
        SignalOutcome::Well
    }

    /// Says that there is no such way to here.
    pub(super) fn decline(&self) {
        say(&self.signals, &Signal::No);
    }

    /// It is open: nothing more has to be said.
    pub(super) fn opened(&self) {
        let _ = self.signals.close(); // It may be closed already.
    }

    /// Queues bytes for the node's send window.
    pub(super) fn write(&mut self, data: &[u8]) {
        let pieces = data.chunks(MESSAGE as usize).map(UnicastPayload::copy_from_slice);
        self.out.extend(pieces);
    }

    /// Queues the end, which is a message without bytes.
    pub(super) fn end(&mut self) {
        self.out.push_back(UnicastPayload::new());
        self.ends = true;
    }

    /// Resolves as soon as nothing waits for the send window; or never, when the
    /// channel ends first.
    pub(super) fn room(&mut self) -> oneshot::Receiver<()> {
        let (tell, room) = oneshot::channel();
        self.room = Some(tell);
        self.say_room();
        room
    }

    /// Tells who waits for room, if there is some.
    pub(super) fn say_room(&mut self) {
        if self.out.is_empty()
            && !self.full
            && let Some(tell) = self.room.take()
        {
            let _ = tell.send(()); // No task waits any more.
        }
    }

    /// Sends a datagram; false when it is lost.
    pub(super) fn post(&self, datagram: &[u8]) -> bool {
        self.arranged.as_ref().is_some_and(|Arranged { data, .. }| {
            data.buffered_amount() <= UNSENT && data.send_with_u8_array(datagram).is_ok()
        })
    }
}

/// What was heard from the other page.
pub(super) enum SignalOutcome {
    Well,
    /// It has no such way.
    No,
    /// That is no signal.
    Nonsense,
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.signals.set_onmessage(None);
        self.signals.set_onclose(None);
        let _ = self.signals.close(); // It may be closed already.
    }
}

impl Drop for Arranged {
    fn drop(&mut self) {
        self.data.set_onopen(None);
        self.data.set_onclose(None);
        self.data.set_onmessage(None);
        self.rtc.set_onicecandidate(None);
        self.rtc.set_onconnectionstatechange(None);
        self.data.close();
        let rtc = self.rtc.clone();
        spawn_local(async move {
            sleep(FORGET).await;
            rtc.close();
        });
    }
}

fn configuration(stun: Option<&str>) -> RtcConfiguration {
    let configuration = RtcConfiguration::new();
    if let Some(stun) = stun {
        let server = RtcIceServer::new();
        server.set_urls(&stun.into());
        configuration.set_ice_servers(&Array::of1(&server));
    }
    configuration
}

fn say(signals: &WebSocket, signal: &Signal) {
    if signals.ready_state() != WebSocket::OPEN {
        return; // The channel is open, or will not be.
    }
    let _ = signals.send_with_u8_array(signal.line().as_bytes());
}

/// Says where we may be reached, and hears that the way is lost.
fn watch(
    host: &SharedChannel,
    conn: ConnId,
    rtc: &RtcPeerConnection,
    signals: &WebSocket,
) -> (Listener, Listener) {
    let signals = signals.clone();
    let found: Listener = Closure::new(move |event: JsValue| {
        let event: RtcPeerConnectionIceEvent = event.unchecked_into();
        let Some(found) = event.candidate().filter(|it| !it.candidate().is_empty()) else { return };
        let (mid, section) = (found.sdp_mid(), found.sdp_m_line_index());
        say(&signals, &Signal::Candidate(found.candidate(), mid, section));
    });
    let (rtc, host) = (rtc.clone(), Rc::downgrade(host));
    let changed: Listener = Closure::new(move |_| {
        if rtc.connection_state() == RtcPeerConnectionState::Failed
            && let Some(host) = host.upgrade()
        {
            PageHost::happened(&host, [Happened::ChannelOver(conn)]);
        }
    });
    (found, changed)
}

/// Offers and answers, in the order in which it is told what the other says.
async fn negotiate(
    rtc: &RtcPeerConnection,
    signals: &WebSocket,
    calls: bool,
    mut told: mpsc::UnboundedReceiver<Signal>,
) -> Result<(), JsValue> {
    if calls {
        describe(rtc, signals, RtcSdpType::Offer).await?;
    }
    while let Some(signal) = told.next().await {
        match signal {
            Signal::Session(text) => {
                let kind = if calls { RtcSdpType::Answer } else { RtcSdpType::Offer };
                let session = RtcSessionDescriptionInit::new(kind);
                session.set_sdp(&text);
                JsFuture::from(rtc.set_remote_description(&session)).await?;
                if !calls {
                    describe(rtc, signals, RtcSdpType::Answer).await?;
                }
            }
            Signal::Candidate(text, mid, section) => {
                let candidate = RtcIceCandidateInit::new(&text);
                candidate.set_sdp_mid(mid.as_deref());
                candidate.set_sdp_m_line_index(section);
                let added = rtc.add_ice_candidate_with_opt_rtc_ice_candidate_init(Some(&candidate));
                let _ = JsFuture::from(added).await; // Then it is one fewer.
            }
            Signal::No => {}
        }
    }
    Ok(())
}

/// Says how we speak.
async fn describe(
    rtc: &RtcPeerConnection,
    signals: &WebSocket,
    kind: RtcSdpType,
) -> Result<(), JsValue> {
    let made = if kind == RtcSdpType::Offer { rtc.create_offer() } else { rtc.create_answer() };
    let session: RtcSessionDescriptionInit = JsFuture::from(made).await?.unchecked_into();
    JsFuture::from(rtc.set_local_description(&session)).await?;
    say(signals, &Signal::Session(session.get_sdp().unwrap_or_default()));
    Ok(())
}
