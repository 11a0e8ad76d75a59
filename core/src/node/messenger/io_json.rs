//! What a messenger is given, read from a tape.

use super::{Command, Input};
use crate::json::enum_from_json;

enum_from_json!(Input, Self::Flush, {
    "start" => Start,
    "datagram" => Datagram { from, data },
    "command" => Command(command),
    "flush" => Flush,
});
enum_from_json!(Command, Self::Close { to: ([0; 4], 0).into() }, {
    "send" => Send { to, order, data },
    "taken" => Taken { from, messages, bytes },
    "close" => Close { to },
    "forget" => Forget { peer, side },
});
#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Json, read};
    use crate::unicast::{Order, Payload, Side};

    #[test]
    fn every_input_comes_back_from_its_text() {
        let at = "[::1]:7".parse().unwrap();
        let data = Payload::from_static(b"\x00\xff");
        for input in [
            Input::Start,
            Input::Datagram { from: at, data: data.clone() },
            Input::Command(Command::Send { to: at, order: Order::AtOnce, data }),
            Input::Command(Command::Taken { from: at, messages: 2, bytes: u64::MAX }),
            Input::Command(Command::Close { to: at }),
            Input::Command(Command::Forget { peer: at, side: Side::Receiver }),
            Input::Flush,
        ] {
            let text = serde_json::to_string(&input).unwrap();
            assert_eq!(read(&Json::parse(&text).unwrap()), Ok(input), "{text}");
        }
    }
}
