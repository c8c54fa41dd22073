//! Picking a field out of a header whose length is known: the compiler checks the bounds, so that
//! nothing is left to check, or to panic, when it runs.

/// The `LEN` bytes that begin at byte `AT` of `head`. A field beyond the end does not compile.
#[inline(always)]
pub(crate) const fn field<const AT: usize, const LEN: usize, const N: usize>(
    head: &[u8; N],
) -> [u8; LEN] {
    const { assert!(AT + LEN <= N) }
    let mut bytes = [0; LEN];
    let mut i = 0;
    while i < LEN {
        bytes[i] = head[AT + i];
        i += 1;
    }
    bytes
}

/// The 16-bit number at byte `AT`, big-endian.
#[inline(always)]
pub(crate) const fn be16<const AT: usize, const N: usize>(head: &[u8; N]) -> u16 {
    u16::from_be_bytes(field::<AT, 2, N>(head))
}

/// The 32-bit number at byte `AT`, big-endian.
#[inline(always)]
pub(crate) const fn be32<const AT: usize, const N: usize>(head: &[u8; N]) -> u32 {
    u32::from_be_bytes(field::<AT, 4, N>(head))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_where_they_stand() {
        let head = [1, 2, 3, 4, 5, 6];
        assert_eq!(field::<1, 3, 6>(&head), [2, 3, 4]);
        assert_eq!(be16::<4, 6>(&head), 0x0506);
        assert_eq!(be32::<0, 6>(&head), 0x0102_0304);
    }
}
