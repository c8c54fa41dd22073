//! The commands of the call in hand, as bytes (`docs/app-records.md`).

use core::ptr;

use crate::python::*;

pub const STOP: u16 = 1;
pub const SEND: u16 = 2;
pub const ANSWER: u16 = 4;

/// The bytes so far: one piece of memory for ever, which grows.
struct Bytes {
    data: *mut u8,
    len: usize,
    room: usize,
}

static mut OUT: Bytes = Bytes { data: ptr::null_mut(), len: 0, room: 0 };

/// Room for so many bytes more, which count as written; null where there is none.
#[inline]
pub unsafe fn extend(more: usize) -> *mut u8 {
    let out = &raw mut OUT;
    let len = (*out).len + more;
    if len > (*out).room {
        let room = len.next_power_of_two().max(1 << 14);
        let data = PyObject_Realloc((*out).data.cast(), room);
        if data.is_null() {
            PyErr_NoMemory();
            return ptr::null_mut();
        }
        ((*out).data, (*out).room) = (data.cast(), room);
    }
    let at = (*out).data.add((*out).len);
    (*out).len = len;
    at
}

/// Writes the 24 bytes that each command begins with; false, and Python raises it, where there is
/// no room.
#[inline]
pub unsafe fn command(kind: u16, index: u32, port: u32) -> bool {
    let at = extend(24);
    if at.is_null() {
        return false;
    }
    at.cast::<u64>().write_unaligned(u64::from(kind));
    at.add(8).cast::<u32>().write_unaligned(index);
    at.add(12).cast::<u32>().write_unaligned(port);
    at.add(16).cast::<u64>().write_unaligned(0);
    true
}

/// `emit(bytes)` appends bytes.
pub unsafe extern "C" fn emit(_module: Ptr, bytes: Ptr) -> Ptr {
    let (mut data, mut len) = (ptr::null_mut(), 0);
    if PyBytes_AsStringAndSize(bytes, &raw mut data, &raw mut len) != 0 {
        return ptr::null_mut();
    }
    let at = extend(len as usize);
    if at.is_null() {
        return ptr::null_mut();
    }
    ptr::copy_nonoverlapping(data, at, len as usize);
    none()
}

/// `taken()` is all of them; none are left.
pub unsafe extern "C" fn taken(_module: Ptr, _: Ptr) -> Ptr {
    let out = &raw mut OUT;
    let len = (*out).len;
    (*out).len = 0;
    PyBytes_FromStringAndSize((*out).data, len as isize)
}

/// `clear()` forgets them.
pub unsafe extern "C" fn clear(_module: Ptr, _: Ptr) -> Ptr {
    (*&raw mut OUT).len = 0;
    none()
}
