//! What an application sends: the two messages of a learning switch are written here, any other by
//! Python.

use core::ptr;

use crate::batch::{HAND, NO_INDEX};
use crate::commands::{ANSWER, SEND, command, extend};
use crate::ethernet::LAST;
use crate::python::*;
use crate::record::field;
use crate::setup::{APPLY, FLOW_MOD, OBJECTS, OUTPUT, PACKET_OUT, known};

/// `Datapath.send_msg(msg)`.
pub unsafe extern "C" fn send_msg(datapath: Ptr, message: Ptr) -> Ptr {
    let hand = &raw mut HAND;
    let index = if (*hand).datapath == datapath { (*hand).index } else { NO_INDEX };
    let class = (*message).class;
    if index != NO_INDEX {
        let written = if class == (*known(FLOW_MOD)).class {
            flow(message, index)
        } else if class == (*known(PACKET_OUT)).class {
            packet(message, index, (*hand).data)
        } else {
            None
        };
        match written {
            Some(true) => return none(),
            Some(false) => return ptr::null_mut(),
            None => {}
        }
    }
    let args = [datapath, message, PyLong_FromUnsignedLong(index)];
    let sent = PyObject_Vectorcall((*&raw mut OBJECTS).send, args.as_ptr(), 3, ptr::null_mut());
    release(args.as_ptr().add(2).read());
    sent
}

/// The port of what is one output.
unsafe fn output(actions: Ptr) -> Option<Ptr> {
    let action = only(actions);
    let is = !action.is_null() && (*action).class == (*known(OUTPUT)).class;
    is.then_some(action)
}

/// The packet of the request out of one port: its bytes need not go back.
unsafe fn packet(message: Ptr, index: u32, data: Ptr) -> Option<bool> {
    if data.is_null() || field(message, 4) != data {
        return None;
    }
    let action = output(field(message, 3))?;
    let port = (*known(OUTPUT)).number(action, 0, u32::MAX.into())?;
    Some(command(SEND, index, port as u32))
}

/// The bytes of a flow, in which numbers have their most significant byte first.
struct Writer(*mut u8);

impl Writer {
    #[inline]
    unsafe fn bytes<const N: usize>(&mut self, bytes: [u8; N]) {
        self.0.cast::<[u8; N]>().write_unaligned(bytes);
        self.0 = self.0.add(N);
    }
}

/// Fields of a FLOW_MOD by their places, as `number` reads them: their length in bytes.
const NUMBERS: [(usize, u8); 11] =
    [(14, 4), (1, 8), (2, 8), (3, 1), (4, 1), (5, 2), (6, 2), (7, 2), (8, 4), (9, 4), (10, 4)];

/// What a learning switch adds: a flow with one output, for a port and the two addresses of the
/// header that was read last.
unsafe fn flow(message: Ptr, index: u32) -> Option<bool> {
    let record = known(FLOW_MOD);
    let in_port = addressed(field(message, 12))?;
    let apply = only(field(message, 13));
    if apply.is_null() || (*apply).class != (*known(APPLY)).class {
        return None;
    }
    if (*known(APPLY)).number(apply, 0, u64::MAX)? != 4 {
        return None;
    }
    let action = output(field(apply, 1))?;
    let port = (*known(OUTPUT)).number(action, 0, u32::MAX.into())? as u32;
    let max_len = (*known(OUTPUT)).number(action, 1, u16::MAX.into())? as u16;
    let mut numbers = [0; NUMBERS.len()];
    for at in 0..NUMBERS.len() {
        let (place, len) = NUMBERS.as_ptr().add(at).read();
        let max = u64::MAX >> (64 - 8 * u32::from(len));
        numbers.as_mut_ptr().add(at).write((*record).number(message, place, max)?);
    }
    let flags = (*record).number(message, 11, u16::MAX.into())? as u16;
    let at = extend(24 + 104);
    if at.is_null() {
        return Some(false);
    }
    let mut writer = Writer(at);
    writer.bytes((u64::from(ANSWER) | 104 << 32).to_le_bytes());
    writer.bytes(index.to_le_bytes());
    writer.bytes([0; 12]);
    writer.bytes([4, 14, 0, 104]);
    let [xid, cookie, mask, table, command, idle, hard, priority, buffer, out_port, group] =
        numbers;
    writer.bytes((xid as u32).to_be_bytes());
    writer.bytes(cookie.to_be_bytes());
    writer.bytes(mask.to_be_bytes());
    writer.bytes([table as u8, command as u8]);
    writer.bytes((idle as u16).to_be_bytes());
    writer.bytes((hard as u16).to_be_bytes());
    writer.bytes((priority as u16).to_be_bytes());
    writer.bytes((buffer as u32).to_be_bytes());
    writer.bytes((out_port as u32).to_be_bytes());
    writer.bytes((group as u32).to_be_bytes());
    writer.bytes(flags.to_be_bytes());
    writer.bytes([0, 0]);
    let [d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5] = (*&raw mut LAST).addresses;
    writer.bytes([0, 1, 0, 32, 0x80, 0, 0, 4]);
    writer.bytes(in_port.to_be_bytes());
    writer.bytes([0x80, 0, 3 << 1, 6, d0, d1, d2, d3, d4, d5]);
    writer.bytes([0x80, 0, 4 << 1, 6, s0, s1, s2, s3, s4, s5]);
    writer.bytes([0, 4, 0, 24, 0, 0, 0, 0, 0, 0, 0, 16]);
    writer.bytes(port.to_be_bytes());
    writer.bytes(max_len.to_be_bytes());
    writer.bytes([0; 6]);
    Some(true)
}

/// The port of a match that is of a port and the two addresses of the last header.
unsafe fn addressed(fields: Ptr) -> Option<u32> {
    let (objects, last) = (&raw mut OBJECTS, &raw mut LAST);
    if fields == none() || PyDict_Size(fields) != 3 {
        PyErr_Clear();
        return None;
    }
    let (mut at, mut key, mut value) = (0, ptr::null_mut(), ptr::null_mut());
    let (mut dst, mut src, mut in_port) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    while PyDict_Next(fields, &raw mut at, &raw mut key, &raw mut value) != 0 {
        if key == (*objects).in_port {
            in_port = value;
        } else if key == (*objects).eth_dst {
            dst = value;
        } else if key == (*objects).eth_src {
            src = value;
        }
    }
    if dst.is_null() || dst != (*last).dst || src != (*last).src || in_port.is_null() {
        return None;
    }
    number(in_port).filter(|&port| port <= u32::MAX.into()).map(|port| port as u32)
}
