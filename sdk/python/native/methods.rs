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

static mut MSG: GetSetDef = GetSetDef {
    name: c"msg".as_ptr(),
    get: itself,
    set: ptr::null(),
    doc: ptr::null(),
    closure: ptr::null_mut(),
};

/// An event is its own message.
unsafe extern "C" fn itself(event: Ptr, _: *mut core::ffi::c_void) -> Ptr {
    shared(event)
}

/// Has the classes use these methods.
pub unsafe fn quicken(datapath: Ptr) -> Ptr {
    let (packet, event) = ((*known(PACKET)).class, (*known(PACKET_IN)).class);
    let made = [
        (datapath, SEND_MSG.name, PyDescr_NewMethod(datapath, &raw mut SEND_MSG)),
        (packet, GET_PROTOCOL.name, PyDescr_NewMethod(packet, &raw mut GET_PROTOCOL)),
        (packet, GET_PROTOCOLS.name, PyDescr_NewMethod(packet, &raw mut GET_PROTOCOLS)),
        (event, MSG.name, PyDescr_NewGetSet(event, &raw mut MSG)),
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
    let first = if PyList_Size(all) > 0 { PyList_GetItem(all, 0) } else { none() };
    shared(first);
    release(all);
    first
}

/// All headers of a class.
unsafe extern "C" fn get_protocols(packet: Ptr, class: Ptr) -> Ptr {
    if class != (*known(ETHERNET)).class {
        return others(packet, class);
    }
    let header = read_ethernet(packet, field(packet, 0));
    if header.is_null() {
        return header;
    }
    let list = PyList_New((header != none()).into());
    if !list.is_null() && header != none() {
        PyList_SetItem(list, 0, header);
    }
    list
}

unsafe fn others(packet: Ptr, class: Ptr) -> Ptr {
    let args = [packet, class];
    PyObject_Vectorcall((*&raw mut OBJECTS).protocols, args.as_ptr(), 2, ptr::null_mut())
}
