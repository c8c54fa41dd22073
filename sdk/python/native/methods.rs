//! Methods of the SDK's classes that are called for every request, in the place of those in Python.

use core::ptr;

use crate::answer::send_msg;
use crate::ethernet::read_ethernet;
use crate::python::*;
use crate::record::field;
use crate::setup::{ETHERNET, OBJECTS, PACKET, PACKET_IN, known};

static mut SEND_MSG: MethodDef = MethodDef::new(c"send_msg", send_msg, METH_O);
static mut GET_PROTOCOL: MethodDef = MethodDef::new(c"get_protocol", get_protocol, METH_O);
static mut GET_PROTOCOLS: MethodDef = MethodDef::new(c"get_protocols", get_protocols, METH_O);

/// An event is its own message.
static mut MSG: MemberDef = MemberDef {
    name: c"msg".as_ptr(),
    kind: T_OBJECT_EX,
    offset: 0,
    flags: READ_ONLY,
    doc: ptr::null(),
};

/// The list of headers that was returned last: the next one where the application has not kept it.
static mut HEADERS: Ptr = ptr::null_mut();

/// Has the classes use these methods.
pub unsafe fn quicken(datapath: Ptr) -> Ptr {
    let (packet, event) = ((*known(PACKET)).class, (*known(PACKET_IN)).class);
    MSG.offset = (*known(PACKET_IN)).itself() as isize;
    let made = [
        (datapath, SEND_MSG.name, PyDescr_NewMethod(datapath, &raw mut SEND_MSG)),
        (packet, GET_PROTOCOL.name, PyDescr_NewMethod(packet, &raw mut GET_PROTOCOL)),
        (packet, GET_PROTOCOLS.name, PyDescr_NewMethod(packet, &raw mut GET_PROTOCOLS)),
        (event, MSG.name, PyDescr_NewMember(event, &raw mut MSG)),
    ];
    for (class, name, method) in made {
        if method.is_null() || PyObject_SetAttrString(class, name, method) != 0 {
            return ptr::null_mut();
        }
        release(method);
    }
    none()
}

/// The first header of a class; None where there is none.
unsafe extern "C" fn get_protocol(packet: Ptr, class: Ptr) -> Ptr {
    if class == (*known(ETHERNET)).class {
        return read_ethernet(packet, field(packet, 0));
    }
    let all = others(packet, class);
    if all.is_null() {
        return all;
    }
    let list = all.cast::<ListHead>();
    let first = shared(if (*list).len > 0 { (*list).elements.read() } else { none() });
    release(all);
    first
}

/// All headers of a class.
unsafe extern "C" fn get_protocols(packet: Ptr, class: Ptr) -> Ptr {
    if class != (*known(ETHERNET)).class {
        return others(packet, class);
    }
    let kept = HEADERS;
    let is_spare = !kept.is_null() && !shared_elsewhere(kept) && !only(kept).is_null();
    if is_spare {
        // First, so that the next header is where the last one was.
        PyList_SetItem(kept, 0, shared(none()));
    }
    let header = read_ethernet(packet, field(packet, 0));
    if header.is_null() {
        return header;
    }
    if header == none() {
        return PyList_New(0);
    }
    if !is_spare {
        release(kept);
        HEADERS = PyList_New(1);
    }
    let list = HEADERS;
    if list.is_null() {
        release(header);
        return list;
    }
    PyList_SetItem(list, 0, header);
    shared(list)
}

unsafe fn others(packet: Ptr, class: Ptr) -> Ptr {
    let args = [packet, class];
    PyObject_Vectorcall((*&raw mut OBJECTS).protocols, args.as_ptr(), 2, ptr::null_mut())
}
