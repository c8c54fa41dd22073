//! Prefetching and SIMD comparison: the two instructions that the language has no word for.
//!
//! Measured with `cargo bench -p aldis-apps --bench learning_switch`, nanoseconds a request with 16
//! and 64 switches of 100,000 hosts: 10.1 and 10.4, and prefetched into the innermost cache instead
//! hardly anything else (9.8 and 10.3, against 9.7 and 9.9, with another form of the loop). On
//! another machine, with blocks of 8, it was 15.6 and 22.9 there against 15.3 and 19.2: fewer lines
//! can be on their way to it than to the second, and lines of the second are at hand in time.
//! Without any prefetch, and word by word with the instructions of every x86-64, an earlier form of
//! the loop took ten and four nanoseconds more.

#[cfg(target_arch = "x86_64")]
use core::sync::atomic::AtomicU64;

/// Starts to bring `value` into the second cache.
#[inline(always)]
pub(crate) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing and faults on no address, and the instruction is part of
    // every x86-64.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T1>(core::ptr::from_ref(value).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// The places of `wanted` among eight numbers: a bit for each, the lowest for the first. Without a
/// branch for each: where a key is cannot be foreseen.
#[inline(always)]
pub(crate) fn places(among: &[u32; 8], wanted: u32) -> u32 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE2 is part of every x86-64.
    unsafe {
        places_by_four(among, wanted)
    }
    #[cfg(not(target_arch = "x86_64"))]
    among.iter().rev().fold(0, |places, &there| places << 1 | u32::from(there == wanted))
}

/// The same by eleven instructions; the compiler makes thirty of a loop.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
#[inline]
fn places_by_four(among: &[u32; 8], wanted: u32) -> u32 {
    use core::arch::x86_64::{
        _mm_cmpeq_epi32, _mm_movemask_epi8, _mm_packs_epi16, _mm_packs_epi32, _mm_set1_epi32,
        _mm_setr_epi32, _mm_setzero_si128,
    };
    let [a, b, c, d, e, f, g, h] = among.map(u32::cast_signed);
    let wanted = _mm_set1_epi32(wanted.cast_signed());
    let first = _mm_cmpeq_epi32(_mm_setr_epi32(a, b, c, d), wanted);
    let second = _mm_cmpeq_epi32(_mm_setr_epi32(e, f, g, h), wanted);
    let bytes = _mm_packs_epi16(_mm_packs_epi32(first, second), _mm_setzero_si128());
    _mm_movemask_epi8(bytes).cast_unsigned()
}

/// The number at the place of `wanted` among eight others; of several places, the numbers' bits
/// together; of none, 0. Without a branch on whether there is one.
#[inline(always)]
pub(crate) fn at_place(among: &[u32; 8], wanted: u32, numbers: &[u32; 8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE2 is part of every x86-64.
    unsafe {
        at_place_by_four(among, wanted, numbers)
    }
    #[cfg(not(target_arch = "x86_64"))]
    among.iter().zip(numbers).fold(0, |found, (&there, &number)| {
        found | number & u32::from(there == wanted).wrapping_neg()
    })
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
#[inline]
fn at_place_by_four(among: &[u32; 8], wanted: u32, numbers: &[u32; 8]) -> u32 {
    use core::arch::x86_64::{
        __m128i, _mm_and_si128, _mm_cmpeq_epi32, _mm_cvtsi128_si32, _mm_or_si128, _mm_set1_epi32,
        _mm_setr_epi32, _mm_shuffle_epi32,
    };
    let wanted = _mm_set1_epi32(wanted.cast_signed());
    let halves = |[a, b, c, d, e, f, g, h]: [i32; 8]| -> [__m128i; 2] {
        [_mm_setr_epi32(a, b, c, d), _mm_setr_epi32(e, f, g, h)]
    };
    let [first, second] = halves(among.map(u32::cast_signed));
    let [of_first, of_second] = halves(numbers.map(u32::cast_signed));
    let found = _mm_or_si128(
        _mm_and_si128(_mm_cmpeq_epi32(first, wanted), of_first),
        _mm_and_si128(_mm_cmpeq_epi32(second, wanted), of_second),
    );
    let found = _mm_or_si128(found, _mm_shuffle_epi32::<0b01_00_11_10>(found));
    let found = _mm_or_si128(found, _mm_shuffle_epi32::<0b10_11_00_01>(found));
    _mm_cvtsi128_si32(found).cast_unsigned()
}

/// What the processor can do beyond every x86-64.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Width {
    /// Nothing that is used here.
    One,
    /// x86-64-v3: four words at a time.
    Four,
    /// And AVX-512: eight words at a time.
    Eight,
}

#[cfg(target_arch = "x86_64")]
impl Width {
    /// That of this processor.
    #[inline]
    pub(super) fn here() -> Width {
        use std::arch::is_x86_feature_detected as has;
        if !(has!("avx2") && has!("bmi1") && has!("bmi2") && has!("movbe")) {
            return Width::One;
        }
        if has!("avx512f") && has!("avx512dq") { Width::Eight } else { Width::Four }
    }
}

// The vectors below are loads of each word as `AtomicU64` would do them: the processor tears no
// aligned word of a vector, and does not move loads behind later ones. The compiler sees none of
// it, so it is written in assembly; vector intrinsics would read shared memory as if no other
// thread wrote there.

/// Whether one of the words is `word`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn holds_by_four(words: &[AtomicU64; 8], word: u64) -> bool {
    let found: u32;
    // SAFETY: AVX2 is there, for the caller has it; the 64 bytes read are those of `words`; nothing
    // is written.
    unsafe {
        core::arch::asm!(
            "vmovq {wanted:x}, {word}",
            "vpbroadcastq {wanted}, {wanted:x}",
            "vpcmpeqq {a}, {wanted}, ymmword ptr [{words}]",
            "vpcmpeqq {wanted}, {wanted}, ymmword ptr [{words} + 32]",
            "vpor {a}, {a}, {wanted}",
            "vpmovmskb {found:e}, {a}",
            word = in(reg) word,
            words = in(reg) words,
            wanted = out(ymm_reg) _,
            a = out(ymm_reg) _,
            found = out(reg) found,
            options(nostack, readonly, preserves_flags),
        );
    }
    found != 0
}

/// The lower 16 bits of the word that agrees with `key` in all others; 0 where none does. The lower
/// 16 bits of `key` are 0, and no two words agree with it.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn rest_by_four(words: &[AtomicU64; 8], key: u64) -> u64 {
    let rest: u64;
    // SAFETY: as above.
    unsafe {
        core::arch::asm!(
            "vmovq {key:x}, {rest}",
            "vpbroadcastq {key}, {key:x}",
            "vpxor {a}, {key}, ymmword ptr [{words}]",
            "vpxor {b}, {key}, ymmword ptr [{words} + 32]",
            "vpxor {key}, {key}, {key}",
            "vpblendw {c}, {a}, {key}, 0x11",
            "vpblendw {d}, {b}, {key}, 0x11",
            "vpcmpeqq {c}, {c}, {key}",
            "vpcmpeqq {d}, {d}, {key}",
            "vpand {a}, {a}, {c}",
            "vpand {b}, {b}, {d}",
            "vpor {a}, {a}, {b}",
            "vextracti128 {b:x}, {a}, 1",
            "vpor {a:x}, {a:x}, {b:x}",
            "vpshufd {b:x}, {a:x}, 0xee",
            "vpor {a:x}, {a:x}, {b:x}",
            "vmovq {rest}, {a:x}",
            rest = inout(reg) key => rest,
            words = in(reg) words,
            key = out(ymm_reg) _,
            a = out(ymm_reg) _,
            b = out(ymm_reg) _,
            c = out(ymm_reg) _,
            d = out(ymm_reg) _,
            options(nostack, readonly, preserves_flags),
        );
    }
    rest
}

/// As [`holds_by_four`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq")]
#[inline]
pub(super) fn holds_by_eight(words: &[AtomicU64; 8], word: u64) -> bool {
    let found: u32;
    // SAFETY: AVX-512 is there, for the caller has it; the 64 bytes read are those of `words`;
    // nothing is written.
    unsafe {
        core::arch::asm!(
            "vpbroadcastq {wanted}, {word}",
            "vpcmpeqq {equal}, {wanted}, zmmword ptr [{words}]",
            "kmovb {found:e}, {equal}",
            word = in(reg) word,
            words = in(reg) words,
            wanted = out(zmm_reg) _,
            equal = out(kreg) _,
            found = out(reg) found,
            options(nostack, readonly, preserves_flags),
        );
    }
    found != 0
}

/// As [`rest_by_four`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq")]
#[inline]
pub(super) fn rest_by_eight(words: &[AtomicU64; 8], key: u64) -> u64 {
    let rest: u64;
    // SAFETY: as above.
    unsafe {
        core::arch::asm!(
            "vpbroadcastq {a}, {rest}",
            "vpxorq {a}, {a}, zmmword ptr [{words}]",
            "vpsrlq {b}, {a}, 16",
            "vptestnmq {equal}, {b}, {b}",
            "vpcompressq {a} {{{equal}}} {{z}}, {a}",
            "vmovq {rest}, {a:x}",
            rest = inout(reg) key => rest,
            words = in(reg) words,
            a = out(zmm_reg) _,
            b = out(zmm_reg) _,
            equal = out(kreg) _,
            options(nostack, readonly, preserves_flags),
        );
    }
    rest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn places_are_those_of_the_number(among in prop::array::uniform8(0..3u32), high in any::<bool>()) {
            let high = if high { 0xffff_fffd } else { 0 };
            let among = among.map(|number| number | high);
            for wanted in among.into_iter().chain([7]) {
                let expected = (0..8).filter(|&at| among[at] == wanted).fold(0, |bits, at| bits | 1 << at);
                prop_assert_eq!(places(&among, wanted), expected, "{} among {:?}", wanted, among);
                let numbers = core::array::from_fn(|at| 1 << at);
                prop_assert_eq!(at_place(&among, wanted, &numbers), expected);
            }
        }
    }
}
