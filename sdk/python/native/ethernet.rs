//! Headers of Ethernet, and addresses as text.

use core::ptr;

use crate::python::*;
use crate::record;
use crate::setup::{self, known};

/// Texts that are kept at first, and at most: powers of two.
const FEW: usize = 1 << 12;
const MANY: usize = 1 << 21;

/// A text that is kept, under the address that it is of.
#[repr(C)]
#[derive(Clone, Copy)]
struct Kept {
    address: [u32; 2],
    text: Ptr,
}

/// Texts of addresses, each at the one place that its address has: a host that speaks again has
/// the same text, whose hash Python knows.
///
/// There are more places once many texts had to go that the application holds as well, and that
/// cost no memory here. Those of hosts that it forgets take no more than what there is.
struct Texts {
    kept: *mut Kept,
    places: usize,
    /// Texts that went since there were so many places, and that the application held.
    missed: usize,
}

static mut TEXTS: Texts = Texts { kept: ptr::null_mut(), places: 0, missed: 0 };

impl Texts {
    #[inline]
    unsafe fn place(&self, address: [u32; 2]) -> *mut Kept {
        let word = u64::from(address[0]) | u64::from(address[1]) << 32;
        let mixed = word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        self.kept.add(mixed as usize & (self.places - 1))
    }

    /// Has so many places from now on; as many as before where there is no memory.
    unsafe fn grow(&mut self, places: usize) {
        self.missed = 0;
        let kept: *mut Kept = PyMem_Calloc(places, size_of::<Kept>()).cast();
        if kept.is_null() {
            return;
        }
        let (old, count) = (self.kept, self.places);
        (self.kept, self.places) = (kept, places);
        for at in 0..count {
            let text = old.add(at).read();
            release(self.place(text.address).replace(text).text);
        }
        PyMem_Free(old.cast());
    }
}

/// Brings what is kept of an address to the caches, first its place and then its text: a batch asks
/// for all of its addresses at once, where a look-up would wait for each.
#[inline]
pub unsafe fn ask_for(address: *const u8, text: bool) -> usize {
    let (texts, address) = (&raw mut TEXTS, words(address));
    if (*texts).kept.is_null() {
        return 0;
    }
    let kept = (*texts).place(address);
    match text && !(*kept).text.is_null() {
        true => (*kept).text.cast::<usize>().read(),
        false => (*kept).address[0] as usize,
    }
}

#[inline]
unsafe fn words(address: *const u8) -> [u32; 2] {
    let low = address.cast::<u32>().read_unaligned();
    [low, address.add(4).cast::<u16>().read_unaligned().into()]
}

/// The header that was read last: a flow that a handler makes is nearly always about its addresses,
/// and need not read their text again.
pub struct Last {
    pub dst: Ptr,
    pub src: Ptr,
    pub addresses: [u8; 12],
}

pub static mut LAST: Last = Last { dst: ptr::null_mut(), src: ptr::null_mut(), addresses: [0; 12] };

/// The text of an address, lent.
unsafe fn text(address: *const u8) -> Ptr {
    let texts = &raw mut TEXTS;
    if (*texts).missed * 2 >= (*texts).places && (*texts).places < MANY {
        (*texts).grow(((*texts).places * 4).max(FEW));
    }
    if (*texts).kept.is_null() {
        return PyErr_NoMemory();
    }
    let words = words(address);
    let kept = (*texts).place(words);
    if (*kept).address == words && !(*kept).text.is_null() {
        return (*kept).text;
    }
    let text = written(address);
    if !text.is_null() {
        (*texts).missed += usize::from(shared_elsewhere((*kept).text));
        release((*kept).text);
        *kept = Kept { address: words, text };
    }
    text
}

unsafe fn written(address: *const u8) -> Ptr {
    let mut text = [b':'; 17];
    let text = text.as_mut_ptr();
    for byte in 0..6 {
        let value = *address.add(byte);
        text.add(3 * byte).write(digit(value >> 4));
        text.add(3 * byte + 1).write(digit(value & 15));
    }
    PyUnicode_FromStringAndSize(text, 17)
}

fn digit(value: u8) -> u8 {
    value + if value < 10 { b'0' } else { b'a' - 10 }
}

/// `read_ethernet(data)`: the header of a frame; None where the frame is shorter than that.
pub unsafe extern "C" fn read_ethernet(_module: Ptr, frame: Ptr) -> Ptr {
    let bytes = PyBytes_FromObject(frame);
    if bytes.is_null() {
        return bytes;
    }
    let header = read(bytes);
    release(bytes);
    header
}

unsafe fn read(frame: Ptr) -> Ptr {
    let (mut data, mut len) = (ptr::null_mut(), 0);
    if PyBytes_AsStringAndSize(frame, &raw mut data, &raw mut len) != 0 {
        return ptr::null_mut();
    }
    if len < 14 {
        return none();
    }
    let header = (*known(setup::ETHERNET)).blank();
    if header.is_null() {
        return header;
    }
    let fields = record::fields(header);
    for end in 0..2 {
        let text = text(data.add(6 * end));
        if text.is_null() {
            release(header);
            return text;
        }
        fields.add(end).write(shared(text));
    }
    let (dst, src) = (fields.read(), fields.add(1).read());
    let kind = u32::from(*data.add(12)) << 8 | u32::from(*data.add(13));
    fields.add(2).write(PyLong_FromUnsignedLong(kind));
    let last = &raw mut LAST;
    release((*last).dst);
    release((*last).src);
    ((*last).dst, (*last).src) = (shared(dst), shared(src));
    ptr::copy_nonoverlapping(data, (&raw mut (*last).addresses).cast(), 12);
    header
}
