//! The cookies of a guest: what it says, and what stands on the switch.
//!
//! ```text
//! 63               32 31 30                    0
//! | mark of the guest | 0 | the guest's cookie |   where it fits 31 bits
//! | mark of the guest | 1 | number in a table  |   where it does not
//! ```

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use aldis_control::Cookie;

use crate::limits::COOKIES_KEPT_MAX;

/// The bit that says that the others number an entry of the table.
const NUMBERED: u64 = 1 << 31;

/// The bits of a cookie that a guest has to itself.
const OWN: u64 = NUMBERED - 1;

/// No cookie of a guest is written so: it matches nothing.
const NONE: u64 = 0xffff_ffff;

/// Both ways.
#[derive(Debug)]
pub(crate) struct Cookies {
    mark: Cookie,
    long: Mutex<LongCookies>,
}

#[derive(Debug, Default)]
struct LongCookies {
    by_number: Vec<u64>,
    numbers: HashMap<u64, u64>,
}

impl Cookies {
    /// Of the guest with this name.
    pub(crate) fn of(name: &str) -> Cookies {
        Cookies { mark: Cookie::of(name), long: Mutex::default() }
    }

    /// The cookie of a flow, as it stands on the switch; nothing where the guest has used up its
    /// long ones.
    #[inline]
    pub(crate) fn on_switch(&self, cookie: u64) -> Option<u64> {
        if cookie <= OWN {
            return Some(self.mark.0 | cookie);
        }
        let mut long = self.long();
        if let Some(number) = long.numbers.get(&cookie) {
            return Some(self.mark.0 | NUMBERED | number);
        }
        let number = long.by_number.len();
        if number == COOKIES_KEPT_MAX {
            return None;
        }
        long.by_number.push(cookie);
        long.numbers.insert(cookie, number as u64);
        Some(self.mark.0 | NUMBERED | number as u64)
    }

    /// What the guest said; nothing where the flow is not its own.
    #[inline]
    pub(crate) fn of_guest(&self, cookie: u64) -> Option<u64> {
        if !Cookie(cookie).same_app(self.mark) {
            return None;
        }
        match cookie & NUMBERED {
            0 => Some(cookie & OWN),
            _ => self.long().by_number.get((cookie & OWN) as usize).copied(),
        }
    }

    /// A cookie and a mask that find, among all flows, those that the guest's find among its own;
    /// nothing where they cannot be told so.
    pub(crate) fn filter(&self, cookie: u64, mask: u64) -> Option<(u64, u64)> {
        match mask {
            0 => Some((self.mark.0, Cookie::MASK)),
            u64::MAX if cookie <= OWN => Some((self.mark.0 | cookie, u64::MAX)),
            u64::MAX => {
                let number = self.long().numbers.get(&cookie).map(|number| NUMBERED | number);
                Some((self.mark.0 | number.unwrap_or(NONE), u64::MAX))
            }
            _ if self.long().by_number.is_empty() => {
                // All its cookies fit: a higher bit that has to be set is set in none of them.
                let own = match cookie & mask > OWN {
                    true => NONE,
                    false => cookie & mask & OWN,
                };
                let mask = if own == NONE { NONE } else { mask & OWN };
                Some((self.mark.0 | own, Cookie::MASK | NUMBERED | mask))
            }
            _ => None,
        }
    }

    fn long(&self) -> MutexGuard<'_, LongCookies> {
        self.long.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cookie() -> impl Strategy<Value = u64> {
        prop_oneof![0u64..4, any::<u64>(), Just(OWN), Just(NUMBERED)]
    }

    proptest! {
        /// What a guest writes on a flow it reads again, and no other guest takes it for its own.
        #[test]
        fn cookies_come_back(cookies in prop::collection::vec(cookie(), 1..20)) {
            let (own, other) = (Cookies::of("one"), Cookies::of("two"));
            for cookie in cookies {
                let on_switch = own.on_switch(cookie).unwrap();
                prop_assert_eq!(own.of_guest(on_switch), Some(cookie));
                prop_assert_eq!(other.of_guest(on_switch), None);
            }
        }

        /// A filter finds on the switch what the guest's would find among its own flows, and
        /// nothing of another.
        #[test]
        fn filters_find_the_same(
            cookies in prop::collection::vec(cookie(), 1..20),
            asked in cookie(),
            mask in prop_oneof![Just(0), Just(u64::MAX), any::<u64>(), 0u64..16],
        ) {
            let (own, other) = (Cookies::of("one"), Cookies::of("two"));
            let flows: Vec<_> =
                cookies.iter().map(|cookie| (*cookie, own.on_switch(*cookie).unwrap())).collect();
            let others = other.on_switch(asked).unwrap();
            let Some((cookie, cookie_mask)) = own.filter(asked, mask) else { return Ok(()) };
            for (said, on_switch) in flows {
                let meant = (said ^ asked) & mask == 0;
                prop_assert_eq!((on_switch ^ cookie) & cookie_mask == 0, meant, "{:x}", said);
            }
            prop_assert_ne!((others ^ cookie) & cookie_mask, 0);
        }
    }
}
