//! What serde_json reads, this reads the same; what it refuses, this does.

use alloc::format;
use std::string::ToString;

use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn same(ours: &Json, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Json::Null, Value::Null) => true,
        (Json::Bool(a), Value::Bool(b)) => a == b,
        (Json::Whole(a), Value::Number(b)) => Some(*a) == b.as_u64(),
        (Json::Negative(a), Value::Number(b)) => Some(*a) == b.as_i64(),
        (Json::Real(a), Value::Number(b)) => {
            // They round the last digit as they like.
            let (a, b) = (a.parse::<f64>().unwrap(), b.as_f64().unwrap());
            (a - b).abs() <= b.abs() * 1e-14
        }
        (Json::Text(a), Value::String(b)) => a == b,
        (Json::List(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Json::Object(a), Value::Object(b)) => {
            a.iter().all(|(name, _)| b.contains_key(name))
                && b.iter().all(|(name, b)| ours.get(name).is_some_and(|a| same(a, b)))
        }
        _ => false,
    }
}

fn trees() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9_f64).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::hash_map(any::<String>(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Every shape serde can describe that our types may take.
#[derive(serde::Serialize)]
enum Shape {
    Unit,
    New(Option<u8>),
    Pair(i64, Vec<bool>),
    Fields { none: Option<()>, name: String, c: char },
}

proptest! {
    #[test]
    fn what_is_written_is_what_serde_json_writes(tree in trees(), n in any::<i64>(), text in any::<String>()) {
        let Ok(tree) = Json::parse(&tree.to_string()) else { return Ok(()) };
        prop_assert_eq!(print(&tree), serde_json::to_string(&tree).unwrap());
        let shapes = [
            Shape::Unit,
            Shape::New(Some(n as u8)),
            Shape::New(None),
            Shape::Pair(n, [n > 0, n < 0].into()),
            Shape::Fields { none: None, name: text, c: '\u{1}' },
        ];
        prop_assert_eq!(print(&shapes), serde_json::to_string(&shapes).unwrap());
    }

    #[test]
    fn every_tree_comes_back(tree in trees(), pretty: bool) {
        let text =
            if pretty { format!("{tree:#}") } else { tree.to_string() };
        let ours = Json::parse(&text).unwrap();
        prop_assert!(same(&ours, &tree), "{text} became {ours:?}");
        let again = Json::parse(&ours.print()).unwrap();
        let reals = text.contains(['.', 'e', 'E']);
        prop_assert!(reals || again == ours);
    }

    #[test]
    fn broken_text_is_refused_alike(tree in trees(), at: prop::sample::Index, with in "[\\]\\[{}:,\"\\\\0-9a-fu.+ -]?") {
        let mut text = tree.to_string();
        let cut = at.index(text.len() + 1);
        let cut = (0..=cut).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
        text.insert_str(cut, &with);
        match (Json::parse(&text), serde_json::from_str::<Value>(&text)) {
            (Ok(ours), Ok(theirs)) => prop_assert!(same(&ours, &theirs), "{text}"),
            (Err(_), Err(_)) => {}
            // A number without end is one to us, and infinite to them.
            (Ok(_), Err(why)) => prop_assert!(why.to_string().contains("out of range"), "{text}"),
            (Err(why), Ok(_)) => prop_assert!(false, "{text}: {why}"),
        }
    }

    #[test]
    fn nothing_panics(text: String) {
        let _ = Json::parse(&text);
    }
}

#[test]
fn depth_has_a_limit() {
    let nested = |n: usize| ["[".repeat(n), "]".repeat(n)].concat();
    assert!(Json::parse(&nested(64)).is_ok());
    assert!(Json::parse(&nested(65)).is_err());
    assert!(Json::parse(&"[{\"a\":".repeat(100_000)).is_err());
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let wrong = |text: &str| Json::parse(text).unwrap_err().to_string();
    assert_eq!(wrong("{\n \"a\": ?}"), "not JSON at line 2, column 7");
    let tree = Json::parse(r#"{"slots": -1}"#).unwrap();
    let why = read::<crate::queue::Config>(&tree).unwrap_err().to_string();
    assert_eq!(why, "`slots`: expected a whole number in its range");
}
