//! JSON out of whatever serde can describe.
//!
//! Text in memory takes every byte and our types have text for keys, so nothing
//! here can fail, and the compiler knows: what derived writers do after each
//! field in case it failed is not in the page's module at all.

use alloc::string::String;
use core::fmt::{self, Write as _};

use serde::ser::{self, Serialize, Serializer};

use crate::text::part;

/// The JSON text of a value.
///
/// # Panics
/// When it has a float: our values have none.
#[must_use]
pub fn print(value: &(impl Serialize + ?Sized)) -> String {
    let mut writer = Writer(String::new());
    match value.serialize(&mut writer) {
        Ok(()) => writer.0,
        Err(never) => match never {},
    }
}

struct Writer(String);

impl Writer {
    fn text(&mut self, text: &str) {
        self.0.push('"');
        self.inside(text);
        self.0.push('"');
    }

    /// What stands between the quotes.
    fn inside(&mut self, text: &str) {
        let mut rest = text;
        while let Some(at) = rest.bytes().position(|b| b < b' ' || b == b'"' || b == b'\\') {
            let code = rest.as_bytes()[at];
            self.0.push_str(part(rest, ..at));
            self.0.push('\\');
            match code {
                b'\n' => self.0.push('n'),
                b'\r' => self.0.push('r'),
                b'\t' => self.0.push('t'),
                0x08 => self.0.push('b'),
                0x0c => self.0.push('f'),
                b'"' | b'\\' => self.0.push(char::from(code)),
                _ => {
                    self.0.push_str("u00");
                    self.0.push(if code < 16 { '0' } else { '1' });
                    let digit = usize::from(code % 16);
                    self.0.push_str(part("0123456789abcdef", digit..=digit));
                }
            }
            rest = part(rest, at + 1..);
        }
        self.0.push_str(rest);
    }

    fn whole(&mut self, mut n: u64) {
        let mut digits = [0; 20];
        let mut at = digits.len();
        loop {
            at -= 1;
            digits[at] = b'0' + (n % 10) as u8;
            n /= 10;
            if n == 0 {
                break;
            }
        }
        self.0.push_str(core::str::from_utf8(&digits[at..]).unwrap_or_default());
    }

    /// The beginning of a variant: an object with one entry.
    fn variant(&mut self, name: &str) {
        self.0.push('{');
        self.text(name);
        self.0.push(':');
    }

    fn open(&mut self, begin: &'static str, end: &'static str) -> Items<'_> {
        self.0.push_str(begin);
        Items { writer: self, some: false, end }
    }
}

/// Text that is printed in pieces.
impl fmt::Write for Writer {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        self.inside(piece);
        Ok(())
    }
}

/// A list or an object that is being written.
struct Items<'a> {
    writer: &'a mut Writer,
    some: bool,
    end: &'static str,
}

impl Items<'_> {
    fn next(&mut self) {
        if self.some {
            self.writer.0.push(',');
        }
        self.some = true;
    }

    fn key(&mut self, name: &str) {
        self.next();
        self.writer.text(name);
        self.writer.0.push(':');
    }

    fn close(self) {
        self.writer.0.push_str(self.end);
    }
}

/// Writing does not fail.
#[derive(Debug)]
enum Never {}

impl fmt::Display for Never {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}
impl ser::StdError for Never {}
impl ser::Error for Never {
    fn custom<T: fmt::Display>(_: T) -> Self {
        unreachable!("our types can all be written")
    }
}

type Done = Result<(), Never>;

/// Numbers that fit.
macro_rules! numbers {
    ($($name:ident: $from:ty as $to:ident),*) => {
        $(fn $name(self, n: $from) -> Done { self.$to(n.into()) })*
    };
}

impl<'a> Serializer for &'a mut Writer {
    type Ok = ();
    type Error = Never;
    type SerializeSeq = Items<'a>;
    type SerializeTuple = Items<'a>;
    type SerializeTupleStruct = Items<'a>;
    type SerializeTupleVariant = Items<'a>;
    type SerializeMap = Items<'a>;
    type SerializeStruct = Items<'a>;
    type SerializeStructVariant = Items<'a>;

    numbers!(serialize_u8: u8 as serialize_u64, serialize_u16: u16 as serialize_u64,
        serialize_u32: u32 as serialize_u64, serialize_i8: i8 as serialize_i64,
        serialize_i16: i16 as serialize_i64, serialize_i32: i32 as serialize_i64);

    fn serialize_u64(self, n: u64) -> Done {
        self.whole(n);
        Ok(())
    }
    fn serialize_i64(self, n: i64) -> Done {
        if n < 0 {
            self.0.push('-');
        }
        self.serialize_u64(n.unsigned_abs())
    }
    fn serialize_f32(self, _: f32) -> Done {
        unreachable!("our values have no floats")
    }
    fn serialize_f64(self, _: f64) -> Done {
        unreachable!("our values have no floats")
    }
    fn serialize_bool(self, it: bool) -> Done {
        self.0.push_str(if it { "true" } else { "false" });
        Ok(())
    }
    fn serialize_char(self, c: char) -> Done {
        self.serialize_str(c.encode_utf8(&mut [0; 4]))
    }
    fn serialize_str(self, text: &str) -> Done {
        self.text(text);
        Ok(())
    }
    fn collect_str<T: fmt::Display + ?Sized>(self, value: &T) -> Done {
        self.0.push('"');
        // Writing to text does not fail.
        let _ = write!(self, "{value}");
        self.0.push('"');
        Ok(())
    }
    fn serialize_bytes(self, bytes: &[u8]) -> Done {
        self.collect_seq(bytes)
    }
    fn serialize_unit(self) -> Done {
        self.0.push_str("null");
        Ok(())
    }
    fn serialize_unit_struct(self, _: &'static str) -> Done {
        self.serialize_unit()
    }
    fn serialize_none(self) -> Done {
        self.serialize_unit()
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Done {
        value.serialize(self)
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, name: &'static str) -> Done {
        self.serialize_str(name)
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Done {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        value: &T,
    ) -> Done {
        self.variant(name);
        value.serialize(&mut *self)?;
        self.0.push('}');
        Ok(())
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<Items<'a>, Never> {
        Ok(self.open("[", "]"))
    }
    fn serialize_tuple(self, _: usize) -> Result<Items<'a>, Never> {
        Ok(self.open("[", "]"))
    }
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Items<'a>, Never> {
        Ok(self.open("[", "]"))
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        _: usize,
    ) -> Result<Items<'a>, Never> {
        self.variant(name);
        Ok(self.open("[", "]}"))
    }
    fn serialize_map(self, _: Option<usize>) -> Result<Items<'a>, Never> {
        Ok(self.open("{", "}"))
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Items<'a>, Never> {
        Ok(self.open("{", "}"))
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        _: usize,
    ) -> Result<Items<'a>, Never> {
        self.variant(name);
        Ok(self.open("{", "}}"))
    }
}

impl ser::SerializeMap for Items<'_> {
    type Ok = ();
    type Error = Never;
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Done {
        self.next();
        key.serialize(&mut *self.writer)
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
        self.writer.0.push(':');
        value.serialize(&mut *self.writer)
    }
    fn end(self) -> Done {
        self.close();
        Ok(())
    }
}

/// What has items without names, and what has fields.
macro_rules! items {
    ($($list:ident by $item:ident),*; $($object:ident),*) => {
        $(impl ser::$list for Items<'_> {
            type Ok = ();
            type Error = Never;
            fn $item<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
                self.next();
                value.serialize(&mut *self.writer)
            }
            fn end(self) -> Done {
                self.close();
                Ok(())
            }
        })*
        $(impl ser::$object for Items<'_> {
            type Ok = ();
            type Error = Never;
            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Done {
                self.key(name);
                value.serialize(&mut *self.writer)
            }
            fn end(self) -> Done {
                self.close();
                Ok(())
            }
        })*
    };
}
items!(SerializeSeq by serialize_element, SerializeTuple by serialize_element,
    SerializeTupleStruct by serialize_field, SerializeTupleVariant by serialize_field;
    SerializeStruct, SerializeStructVariant);
