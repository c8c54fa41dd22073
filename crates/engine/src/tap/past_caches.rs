//! Appending past the caches: copies of what was read and written push nothing out of them.
//!
//! A store into memory that is in no cache reads its line first. One that goes past the caches does
//! not. docs/recording.md has what that takes at full load.

#![cfg_attr(
    target_arch = "x86_64",
    expect(
        unsafe_code,
        reason = "such stores, and asking the caches for memory, have no safe form"
    )
)]

/// What is shorter is copied as usual: the wait for such stores to end is not worth it.
const PAST_CACHES_MIN: usize = 1024;

/// Bytes of a line of the caches.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Lines of the caches that are asked for: those of a read and a write of one request, with their
/// heads.
#[cfg(target_arch = "x86_64")]
const FETCHED_LINES: usize = 5;

/// Appends bytes. The vector has room for them, or is given it.
#[inline]
pub(super) fn append_past_caches(to: &mut Vec<u8>, bytes: &[u8]) {
    let is_long = bytes.len() >= PAST_CACHES_MIN;
    let rest = if is_long { append_lines(to, bytes) } else { bytes };
    to.extend_from_slice(rest);
}

/// Appends all that ends with a line of the caches; what is left.
#[cfg(target_arch = "x86_64")]
fn append_lines<'a>(to: &mut Vec<u8>, bytes: &'a [u8]) -> &'a [u8] {
    use core::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};

    to.reserve(bytes.len());
    let before = to.spare_capacity_mut().as_ptr().align_offset(LINE);
    let Some((first, rest)) = bytes.split_at_checked(before) else { return bytes };
    to.extend_from_slice(first);
    let (lines, rest) = rest.as_chunks::<LINE>();
    let room = to.spare_capacity_mut().as_chunks_mut::<LINE>().0;
    assert!(lines.len() <= room.len() && room.as_ptr().addr().is_multiple_of(LINE));
    for (line, room) in lines.iter().zip(room) {
        let (line, room) = (line.as_ptr().cast::<__m128i>(), room.as_mut_ptr().cast::<__m128i>());
        for at in 0..LINE / size_of::<__m128i>() {
            // SAFETY: both are 64 bytes, of which this reads, or writes, 16 at a time. The
            // destination begins at a multiple of 64 bytes, as was asserted, and so each of its
            // parts at one of 16. The instructions are those of every x86-64 processor.
            unsafe { _mm_stream_si128(room.add(at), _mm_loadu_si128(line.add(at))) };
        }
    }
    // SAFETY: this waits for the stores above, before anything else may look at what they wrote.
    // All lines were initialized, and there is room for them, as was asserted.
    unsafe {
        _mm_sfence();
        to.set_len(to.len() + lines.len() * LINE);
    }
    rest
}

#[cfg(not(target_arch = "x86_64"))]
fn append_lines<'a>(_: &mut Vec<u8>, bytes: &'a [u8]) -> &'a [u8] {
    bytes
}

/// Asks the caches for the room behind the bytes, as much as the next short records fill. A ring
/// costs less by that where requests come one at a time: docs/recording.md.
#[inline]
pub(super) fn fetch_room(of: &mut Vec<u8>) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

        for line in of.spare_capacity_mut().chunks(LINE).take(FETCHED_LINES) {
            // SAFETY: the instruction reads and writes nothing that a program can see.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = of;
}

#[cfg(test)]
mod tests {
    use super::{PAST_CACHES_MIN, append_past_caches as append};

    #[test]
    fn every_length_from_every_place_to_every_place_is_appended_whole() {
        let bytes: Vec<u8> = (0..4 * PAST_CACHES_MIN).map(|at| (at * 7 % 251) as u8).collect();
        let mut to = Vec::with_capacity(8 * PAST_CACHES_MIN);
        for len in [0, 1, PAST_CACHES_MIN - 1, PAST_CACHES_MIN, PAST_CACHES_MIN + 63, 3000] {
            for (place, from) in (0..130).flat_map(|place| [(place, 0), (place, place % 67)]) {
                to.clear();
                to.resize(place, u8::MAX);
                append(&mut to, &bytes[from..from + len]);
                assert!(to[..place].iter().all(|byte| *byte == u8::MAX));
                assert_eq!(to[place..], bytes[from..from + len], "{len} bytes at {place}");
            }
        }
    }

    #[test]
    fn a_vector_without_room_is_given_it() {
        let bytes = vec![5; 5000];
        let mut to = vec![];
        append(&mut to, &bytes);
        append(&mut to, &bytes);
        assert_eq!(to, [bytes.clone(), bytes].concat());
    }
}
