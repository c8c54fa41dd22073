//! Enumerations and flag words that a peer may extend: newtypes over the integer on the wire.
//!
//! A value that the specification does not name survives a round trip; one that it names is printed
//! and serialised by that name.

/// Declares an open enumeration: `pub struct Kind(u16) "OFPK_" { ONE = 1, }`.
///
/// The text is the prefix that the specification puts before the names; the constants go without
/// it.
macro_rules! open_enum {
    ($(#[$attr:meta])* $vis:vis struct $Name:ident($int:ty) $prefix:literal {
        $($(#[$value_attr:meta])* $VALUE:ident = $value:expr,)*
    }) => {
        $(#[$attr])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        $vis struct $Name(pub $int);

        impl $Name {
            $($(#[$value_attr])* pub const $VALUE: $Name = $Name($value);)*

            /// Every value that the specification names, in its order.
            pub const NAMED: &'static [$Name] = &[$($Name::$VALUE),*];

            /// The specification's name for it, if there is one.
            pub const fn name(self) -> Option<&'static str> {
                match self {
                    $($Name::$VALUE => Some(concat!($prefix, stringify!($VALUE))),)*
                    _ => None,
                }
            }
        }

        /// Its name, or its number where it has none.
        impl core::fmt::Display for $Name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => core::fmt::Display::fmt(&self.0, f),
                }
            }
        }

        impl core::fmt::Debug for $Name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::fmt::Display::fmt(self, f)
            }
        }

        #[cfg(feature = "serde")]
        impl serde::Serialize for $Name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self.name() {
                    Some(name) => serializer.serialize_str(name),
                    None => serde::Serialize::serialize(&self.0, serializer),
                }
            }
        }
    };
}

/// Declares a flag word: `pub struct Flags(u16) { ONE = 1 << 0, }`.
///
/// Where several bits together have names of their own, the name with more bits comes first.
macro_rules! flags {
    ($(#[$attr:meta])* $vis:vis struct $Name:ident($int:ty) {
        $($(#[$value_attr:meta])* $VALUE:ident = $value:expr,)*
    }) => {
        $(#[$attr])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        $vis struct $Name(pub $int);

        impl $Name {
            $($(#[$value_attr])* pub const $VALUE: $Name = $Name($value);)*

            /// No flag at all.
            pub const EMPTY: $Name = $Name(0);

            /// Every flag that the specification names, in its order.
            pub const NAMED: &'static [($Name, &'static str)] = &[$(($Name::$VALUE, stringify!($VALUE))),*];

            /// Whether all of `flags` are set.
            #[inline]
            pub const fn contains(self, flags: $Name) -> bool {
                self.0 & flags.0 == flags.0
            }
        }

        impl core::ops::BitOr for $Name {
            type Output = $Name;
            fn bitor(self, other: $Name) -> $Name {
                $Name(self.0 | other.0)
            }
        }

        /// The flags that are set, as `A|B|0x40`: the bits without a name come last. `0` where none
        /// is set.
        impl core::fmt::Display for $Name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                let named = Self::NAMED.iter().map(|&(flag, name)| (u64::from(flag.0), name));
                $crate::open::write_flags(f, u64::from(self.0), named)
            }
        }

        impl core::fmt::Debug for $Name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::fmt::Display::fmt(self, f)
            }
        }

        #[cfg(feature = "serde")]
        impl serde::Serialize for $Name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    };
}

pub(crate) use {flags, open_enum};

/// Writes the flags set in `bits` by name, and what is left of it as a number.
pub(crate) fn write_flags(
    f: &mut core::fmt::Formatter<'_>,
    bits: u64,
    named: impl Iterator<Item = (u64, &'static str)>,
) -> core::fmt::Result {
    let mut left = bits;
    let mut separator = "";
    for (flag, name) in named.filter(|&(flag, _)| flag != 0) {
        if left & flag == flag {
            write!(f, "{separator}{name}")?;
            left &= !flag;
            separator = "|";
        }
    }
    match (left, bits) {
        (_, 0) => f.write_str("0"),
        (0, _) => Ok(()),
        _ => write!(f, "{separator}{left:#x}"),
    }
}

#[cfg(test)]
#[allow(unreachable_pub)]
mod tests {
    use alloc::string::ToString;

    open_enum! {
        /// An example.
        struct Kind(u16) "OFPK_" {
            /// The first.
            ONE = 1,
            /// The second.
            TWO = 2,
        }
    }

    flags! {
        /// An example.
        struct Word(u32) {
            /// Two bits.
            BOTH = 3,
            /// The lower.
            LOW = 1,
            /// The upper.
            HIGH = 2,
        }
    }

    #[test]
    fn what_has_a_name_is_called_by_it() {
        assert_eq!(Kind::TWO.to_string(), "OFPK_TWO");
        assert_eq!(Kind(7).to_string(), "7");
        assert_eq!(Kind(7).name(), None);
        assert_eq!(Kind::NAMED, [Kind::ONE, Kind::TWO]);
    }

    #[test]
    fn flags_without_a_name_come_last() {
        assert_eq!(Word(0).to_string(), "0");
        assert_eq!(Word(0x43).to_string(), "BOTH|0x40");
        assert_eq!((Word::HIGH | Word(0x8)).to_string(), "HIGH|0x8");
        assert_eq!(Word::LOW.to_string(), "LOW");
        assert_eq!(Word(0x40).to_string(), "0x40");
        assert!(
            Word(7).contains(Word::BOTH)
                && !Word::LOW.contains(Word::BOTH)
                && Word::EMPTY.contains(Word(0))
        );
    }
}
