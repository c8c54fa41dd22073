//! `dict_type`: subclasses of `dict` that are made from fields by name, in one step.

use core::ffi::c_void;
use core::mem::transmute;
use core::ptr;

use crate::python::*;
use crate::record::text;

/// `dict_type(name)`: a new class.
pub unsafe extern "C" fn dict_type(_module: Ptr, name: Ptr) -> Ptr {
    let mut slots = [
        Slot { slot: TP_BASE, value: (&raw mut PyDict_Type).cast() },
        Slot { slot: TP_DEALLOC, value: dealloc as *mut c_void },
        Slot { slot: TP_VECTORCALL, value: construct as *mut c_void },
        Slot { slot: 0, value: ptr::null_mut() },
    ];
    let (name, slots) = (text(shared(name)), slots.as_mut_ptr());
    let mut spec = TypeSpec { name, size: 0, item_size: 0, flags: 0, slots };
    PyType_FromSpec(&raw mut spec)
}

unsafe extern "C" fn construct(class: Ptr, args: *const Ptr, count: usize, names: Ptr) -> Ptr {
    let count = count & ARGUMENTS;
    if count > 0 {
        return PyErr_Format(PyExc_TypeError, c"fields have names".as_ptr());
    }
    // The slots of `dict` are functions of these types.
    let new: New = transmute(PyType_GetSlot(&raw mut PyDict_Type, TP_NEW));
    let none = PyTuple_New(0);
    let object = new(class, none, ptr::null_mut());
    release(none);
    let named = if names.is_null() || object.is_null() { 0 } else { PyTuple_Size(names) };
    for at in 0..named {
        if PyDict_SetItem(object, PyTuple_GetItem(names, at), *args.add(at as usize)) != 0 {
            release(object);
            return ptr::null_mut();
        }
    }
    object
}

unsafe extern "C" fn dealloc(object: Ptr) {
    let class = (*object).class;
    let of_dict: Dealloc = transmute(PyType_GetSlot(&raw mut PyDict_Type, TP_DEALLOC));
    of_dict(object);
    release(class);
}
