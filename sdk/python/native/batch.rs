//! A batch of events (`docs/app-records.md`): each is handed to the handlers of the application.

use core::hint::black_box;
use core::ptr;

use crate::commands::{STOP, command};
use crate::ethernet::ask_for;
use crate::python::*;
use crate::record::fields;
use crate::setup::{OBJECTS, PACKET_IN, known};

pub const NO_INDEX: u32 = u32::MAX;

const HEADER: usize = 16;
const RECORD: usize = 40;

/// The event in hand: its place in the batch, its switch, and its frame.
pub struct Hand {
    pub index: u32,
    pub datapath: Ptr,
    pub data: Ptr,
}

const EMPTY: Hand = Hand { index: NO_INDEX, datapath: ptr::null_mut(), data: ptr::null_mut() };

pub static mut HAND: Hand = EMPTY;

/// What the records of events begin with.
#[repr(C)]
#[derive(Clone, Copy)]
struct EventHead {
    kind: u16,
    version: u8,
    reason: u8,
    len: u32,
    dpid: u64,
    in_port: u32,
    buffer_id: u32,
    xid: u32,
    _rest: u32,
    index: u32,
    total_len: u32,
}

/// `run(batch, handlers, datapath_of, other)`: hands PACKET_INs to the handlers, a tuple, and calls
/// `other(kind, datapath, reason, xid, index, body)` for any other event.
pub unsafe extern "C" fn run(_module: Ptr, args: Ptr) -> Ptr {
    let argument = |place| element(args, place);
    let done = all(argument(0), argument(1), argument(2), argument(3));
    let hand = &raw mut HAND;
    release((*hand).datapath);
    *hand = EMPTY;
    if done { none() } else { ptr::null_mut() }
}

/// False, and Python raises it, where a handler failed.
unsafe fn all(batch: Ptr, handlers: Ptr, datapath_of: Ptr, other: Ptr) -> bool {
    let (mut data, mut len) = (ptr::null_mut(), 0);
    if PyBytes_AsStringAndSize(batch, &raw mut data, &raw mut len) != 0 {
        return false;
    }
    let (mut at, end) = (HEADER, len as usize);
    black_box(ask_for_all(data, end, false) ^ ask_for_all(data, end, true));
    let mut known = None;
    while at < end {
        if end - at < RECORD {
            return cut();
        }
        let event: EventHead = data.add(at).cast::<EventHead>().read_unaligned();
        let (body, body_len) = (at + RECORD, event.len as usize);
        if end - body < body_len {
            return cut();
        }
        if known != Some(event.dpid) && !take(datapath_of, &event) {
            return false;
        }
        known = (event.kind <= 2).then_some(event.dpid);
        (*&raw mut HAND).index = event.index;
        let bytes = PyBytes_FromStringAndSize(data.add(body), body_len as isize);
        if bytes.is_null() {
            return false;
        }
        let done = match event.kind {
            ..=2 => packet_in(&event, bytes, handlers),
            _ => hand_on(&event, bytes, other),
        };
        release(bytes);
        if !done {
            return false;
        }
        at = body + (body_len + 7 & !7);
    }
    true
}

/// Asks for the texts of all addresses of a batch.
unsafe fn ask_for_all(data: *const u8, end: usize, text: bool) -> usize {
    let (mut at, mut sum) = (HEADER, 0);
    while at < end && end - at >= RECORD + 12 {
        let event: EventHead = data.add(at).cast::<EventHead>().read_unaligned();
        if event.kind <= 2 {
            let frame = data.add(at + RECORD);
            sum ^= ask_for(frame, text) ^ ask_for(frame.add(6), text);
        }
        if event.len as usize > end - at {
            break;
        }
        at += RECORD + (event.len as usize + 7 & !7);
    }
    sum
}

unsafe fn cut() -> bool {
    PyErr_Format(PyExc_ValueError, c"the batch is cut off".as_ptr());
    false
}

/// Takes the switch of an event in hand.
unsafe fn take(datapath_of: Ptr, event: &EventHead) -> bool {
    let dpid = PyLong_FromUnsignedLongLong(event.dpid);
    let version = PyLong_FromUnsignedLong(event.version.into());
    let args = [dpid, version];
    let datapath = PyObject_Vectorcall(datapath_of, args.as_ptr(), 2, ptr::null_mut());
    release(dpid);
    release(version);
    let hand = &raw mut HAND;
    release((*hand).datapath);
    (*hand).datapath = datapath;
    !datapath.is_null()
}

unsafe fn packet_in(event: &EventHead, frame: Ptr, handlers: Ptr) -> bool {
    let (hand, objects) = (&raw mut HAND, &raw mut OBJECTS);
    let object = (*known(PACKET_IN)).blank();
    let (port, fields_of) = (PyLong_FromUnsignedLong(event.in_port), PyDict_New());
    if object.is_null() || port.is_null() || fields_of.is_null() {
        return false;
    }
    if PyDict_SetItem(fields_of, (*objects).in_port, port) != 0 {
        return false;
    }
    release(port);
    let fields = fields(object);
    fields.write(shared((*hand).datapath));
    fields.add(1).write(match event.buffer_id {
        NO_INDEX => shared((*objects).no_buffer),
        buffer => PyLong_FromUnsignedLong(buffer),
    });
    fields.add(2).write(fields_of);
    fields.add(3).write(shared(frame));
    let numbers = [event.index, event.in_port, event.xid, event.total_len, event.reason.into()];
    fields.add(4).cast::<[u32; 5]>().write_unaligned(numbers);
    (*hand).data = frame;
    let mut done = true;
    for place in 0..len(handlers) {
        let answer = call(element(handlers, place), object);
        done = !answer.is_null();
        if !done {
            break;
        }
        if answer == (*objects).stop {
            done = command(STOP, event.index, 0);
        }
        release(answer);
    }
    (*hand).data = ptr::null_mut();
    release(object);
    done
}

unsafe fn hand_on(event: &EventHead, body: Ptr, other: Ptr) -> bool {
    let args = [
        PyLong_FromUnsignedLong(event.kind.into()),
        shared((*&raw mut HAND).datapath),
        PyLong_FromUnsignedLong(event.reason.into()),
        PyLong_FromUnsignedLong(event.xid),
        PyLong_FromUnsignedLong(event.index),
        shared(body),
    ];
    let answer = PyObject_Vectorcall(other, args.as_ptr(), args.len(), ptr::null_mut());
    for arg in args {
        release(arg);
    }
    release(answer);
    !answer.is_null()
}
