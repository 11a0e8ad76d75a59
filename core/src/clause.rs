//! Gives the events of every protocol the requirement they obey.

/// Generates `id` and `clause` for an event type: which requirement an event
/// obeys, and where that is written. The type provides both at once in its own
/// function `source`.
macro_rules! obeys {
    ($event:ty) => {
        impl $event {
            /// The requirement it obeys, as the specification tests name it.
            #[must_use]
            pub const fn id(&self) -> &'static str {
                self.source().0
            }

            /// Where the requirement is written: the text, and the place in it.
            #[must_use]
            pub const fn clause(&self) -> &'static str {
                self.source().1
            }
        }
    };
}

pub(crate) use obeys;
