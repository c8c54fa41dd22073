//! What of the contract with the controller is called here, and not by `componentize-py`: functions
//! that take bytes. It copies bytes that it hands over, and never gives the copy back.

use core::ptr;

use crate::python::*;

#[link(wasm_import_module = "aldis:app/answer@0.1.0")]
unsafe extern "C" {
    /// Appends bytes to the answer to the call in hand.
    #[link_name = "append"]
    fn append_bytes(bytes: *const u8, len: usize);
}

#[link(wasm_import_module = "aldis:app/kv@0.1.0")]
unsafe extern "C" {
    /// Sets the value of a key.
    fn set(key: *const u8, key_len: usize, value: *const u8, len: usize, result: *mut SetResult);
}

unsafe extern "C" {
    fn realloc(memory: *mut u8, len: usize) -> *mut u8;
    fn free(memory: *mut u8);
}

/// Memory for the text that `set` says. The linker wants this function of each module for itself.
#[unsafe(no_mangle)]
unsafe extern "C" fn cabi_realloc(old: *mut u8, _: usize, _: usize, len: usize) -> *mut u8 {
    realloc(old, len)
}

/// What `set` says: a text, where it failed, in memory that is ours.
#[repr(C)]
struct SetResult {
    failed: u8,
    text: *mut u8,
    len: usize,
}

/// `append(bytes)` appends bytes to the answer to the call in hand.
pub unsafe extern "C" fn append(_module: Ptr, bytes: Ptr) -> Ptr {
    let (mut data, mut len) = (ptr::null_mut(), 0);
    if PyBytes_AsStringAndSize(bytes, &raw mut data, &raw mut len) != 0 {
        return ptr::null_mut();
    }
    append_bytes(data, len as usize);
    none()
}

/// `store(key, value)` sets the value of a key: None, or why not.
pub unsafe extern "C" fn store(_module: Ptr, args: Ptr) -> Ptr {
    let (mut key_len, mut value, mut len) = (0, ptr::null_mut(), 0);
    let key = PyUnicode_AsUTF8AndSize(element(args, 0), &raw mut key_len);
    if key.is_null() {
        return ptr::null_mut();
    }
    if PyBytes_AsStringAndSize(element(args, 1), &raw mut value, &raw mut len) != 0 {
        return ptr::null_mut();
    }
    let mut result = SetResult { failed: 0, text: ptr::null_mut(), len: 0 };
    set(key.cast(), key_len as usize, value, len as usize, &raw mut result);
    if result.failed == 0 {
        return none();
    }
    let text = PyUnicode_FromStringAndSize(result.text, result.len as isize);
    free(result.text);
    text
}
