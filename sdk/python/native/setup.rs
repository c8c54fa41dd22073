//! What the module is told of the SDK, once.

use core::ffi::CStr;
use core::ptr;

use crate::methods::quicken;
use crate::python::*;
use crate::record::{RecordType, of_class};

pub const PACKET_IN: usize = 0;
pub const PACKET: usize = 1;
pub const ETHERNET: usize = 2;
pub const OUTPUT: usize = 3;
pub const APPLY: usize = 4;
pub const FLOW_MOD: usize = 5;
pub const PACKET_OUT: usize = 6;

/// The records that the module reads or writes itself, and the fields that it takes for granted.
const RECORDS: [&[&CStr]; 7] = [
    &[c"datapath", c"buffer_id", c"match", c"data"],
    &[c"data"],
    &[c"dst", c"src", c"ethertype"],
    &[c"port", c"max_len"],
    &[c"type_", c"actions"],
    &[
        c"datapath",
        c"cookie",
        c"cookie_mask",
        c"table_id",
        c"command",
        c"idle_timeout",
        c"hard_timeout",
        c"priority",
        c"buffer_id",
        c"out_port",
        c"out_group",
        c"flags",
        c"match",
        c"instructions",
        c"xid",
    ],
    &[c"datapath", c"buffer_id", c"in_port", c"actions", c"data"],
];

static mut KNOWN: [*mut RecordType; RECORDS.len()] = [ptr::null_mut(); RECORDS.len()];

/// Objects of the SDK: what a handler returns to keep a packet, the number of no buffer, and the
/// functions of Python for what is not done here.
pub struct Objects {
    pub stop: Ptr,
    pub no_buffer: Ptr,
    pub send: Ptr,
    pub protocols: Ptr,
    pub in_port: Ptr,
    pub eth_dst: Ptr,
    pub eth_src: Ptr,
}

pub static mut OBJECTS: Objects = Objects {
    stop: ptr::null_mut(),
    no_buffer: ptr::null_mut(),
    send: ptr::null_mut(),
    protocols: ptr::null_mut(),
    in_port: ptr::null_mut(),
    eth_dst: ptr::null_mut(),
    eth_src: ptr::null_mut(),
};

/// A record that the module knows.
#[inline]
pub fn known(place: usize) -> *mut RecordType {
    // SAFETY: the place is one of the constants above.
    unsafe { (&raw mut KNOWN).cast::<*mut RecordType>().add(place).read() }
}

/// `bind(records, objects, datapath)`: the tuples are in the order above, the last is the class of
/// switches.
pub unsafe extern "C" fn bind(_module: Ptr, args: Ptr) -> Ptr {
    let (records, objects) = (element(args, 0), element(args, 1));
    for place in 0..RECORDS.len() {
        let class = element(records, place);
        let record = of_class(class);
        if record.is_null() || !(*record).is(RECORDS.as_ptr().add(place).read()) {
            return PyErr_Format(PyExc_TypeError, c"%R has other fields".as_ptr(), class);
        }
        (&raw mut KNOWN).cast::<*mut RecordType>().add(place).write(record);
    }
    OBJECTS = Objects {
        stop: shared(element(objects, 0)),
        no_buffer: shared(element(objects, 1)),
        send: shared(element(objects, 2)),
        protocols: shared(element(objects, 3)),
        in_port: PyUnicode_InternFromString(c"in_port".as_ptr()),
        eth_dst: PyUnicode_InternFromString(c"eth_dst".as_ptr()),
        eth_src: PyUnicode_InternFromString(c"eth_src".as_ptr()),
    };
    quicken(element(args, 2))
}
