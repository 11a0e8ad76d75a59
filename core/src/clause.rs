//! How the events of every protocol are asked what they obey.

/// Lets an event of a protocol be asked which requirement is behind it and
/// where that is written. The type says both at once in a function `source` of
/// its own.
macro_rules! obeys {
    ($event:ty) => {
        impl $event {
            /// The requirement behind it, as the specification tests name it.
            #[must_use]
            pub const fn id(&self) -> &'static str {
                self.source().0
            }

            /// Where that is written: the text, and the place in it.
            #[must_use]
            pub const fn clause(&self) -> &'static str {
                self.source().1
            }
        }
    };
}

pub(crate) use obeys;
