//! What applications agree on about flows, so that none gets in another's way: which application
//! owns a flow ([`Cookie`]), and which table it goes to ([`Tables`]).
//!
//! A controller that comes back finds the flows of the one before. By their cookies it knows its
//! own: those it leaves alone, so that traffic goes on, and compares only what has to be there.

use core::fmt;

use aldis_wire::Version;
use aldis_wire::msg::TableNo;

use crate::switch::SwitchInfo;

/// The upper 16 bits of the cookie of every flow that Aldis made.
const ALDIS: u64 = 0xa1d1 << 48;

/// The bits of a cookie that name the owner of the flow.
const WHOSE: u64 = 0xffff_ffff << 32;

/// The mark on a flow: which application made it, and which generation of it.
///
/// ```text
/// 63       48 47          32 31                              0
/// |   a1d1   |  application |           generation           |
/// ```
///
/// The application's number comes of its name, and is the same in every run. What a generation is,
/// the application says: a new one where flows made before have to be told from those made now.
/// OpenFlow 1.3 can ask for flows and remove them by cookie, 1.0 cannot, but tells it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cookie(pub u64);

impl Cookie {
    /// The bits by which all generations of one application are told from all other flows: the mask
    /// for [`aldis_wire::msg::FlowMod::only_cookie`].
    pub const MASK: u64 = WHOSE;

    /// Of the application with this name, generation 0.
    pub const fn of(app: &str) -> Cookie {
        Cookie(ALDIS | (number(app) as u64) << 32)
    }

    /// Of this generation.
    pub const fn generation(self, generation: u32) -> Cookie {
        Cookie(self.0 & WHOSE | generation as u64)
    }

    /// Whether it is of the same application, of whatever generation.
    pub const fn same_app(self, other: Cookie) -> bool {
        self.0 & WHOSE == other.0 & WHOSE
    }

    /// Whether an application of Aldis made the flow.
    pub const fn is_ours(self) -> bool {
        self.0 & (0xffff << 48) == ALDIS
    }
}

/// In hexadecimal, as switches are shown it: `0xa1d1…`.
impl fmt::Display for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#018x}", self.0)
    }
}

impl fmt::Debug for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// FNV-1a of the name, folded to 16 bits.
const fn number(name: &str) -> u16 {
    let bytes = name.as_bytes();
    let (mut hash, mut at) = (0x811c_9dc5u32, 0);
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    (hash >> 16 ^ hash) as u16
}

/// Which tables of a switch the flows of applications go to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Tables {
    /// All go to the first.
    #[default]
    One,
    /// The first belongs to rules that every packet passes before anything else (the application
    /// `acl`), and all other flows go to the second; at a switch that has only one, all go there.
    Guarded,
}

impl Tables {
    /// Whether the first table of this switch is for rules alone.
    pub fn are_guarded(self, switch: &SwitchInfo) -> bool {
        self == Tables::Guarded && switch.version != Version::V10 && switch.tables > 1
    }

    /// The table of this switch for flows that forward.
    pub fn forwarding(self, switch: &SwitchInfo) -> TableNo {
        TableNo(u8::from(self.are_guarded(switch)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aldis_wire::DatapathId;
    use alloc::string::ToString;
    use alloc::vec;

    #[test]
    fn a_cookie_says_whose_it_is_and_of_which_generation() {
        let (one, other) = (Cookie::of("acl"), Cookie::of("static-flows"));
        assert!(one.is_ours() && other.is_ours() && !one.same_app(other));
        let later = one.generation(0xffff_fffe);
        assert!(later.same_app(one) && later != one && later.generation(0) == one);
        assert_eq!((later.0 ^ one.0) & Cookie::MASK, 0);
        assert!(!Cookie(0).is_ours() && !Cookie(u64::MAX).is_ours());
        assert!(one.to_string().starts_with("0xa1d1") && one.to_string().len() == 18);
    }

    #[test]
    fn flows_go_behind_the_rules_where_there_is_room_for_both() {
        let info = |version, tables| SwitchInfo {
            dpid: DatapathId(1),
            version,
            buffers: 0,
            tables,
            ports: vec![],
        };
        for (version, tables, table) in
            [(Version::V10, 254, 0), (Version::V13, 1, 0), (Version::V13, 2, 1)]
        {
            let info = info(version, tables);
            assert_eq!(Tables::One.forwarding(&info), TableNo(0));
            assert_eq!(Tables::Guarded.forwarding(&info), TableNo(table));
            assert_eq!(Tables::Guarded.are_guarded(&info), table == 1);
        }
    }
}
