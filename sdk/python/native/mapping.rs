//! `dict_type`: subclasses of `dict` that are made from fields by name, in one step.

use core::ffi::c_void;
use core::mem::transmute;
use core::ptr;

use crate::python::*;
use crate::record::text;

/// What `dict` does for its subclasses.
struct OfDict {
    new: Option<New>,
    dealloc: Option<Dealloc>,
    no_arguments: Ptr,
}

static mut OF_DICT: OfDict = OfDict { new: None, dealloc: None, no_arguments: ptr::null_mut() };

/// `dict_type(name)`: a new class.
pub unsafe extern "C" fn dict_type(_module: Ptr, name: Ptr) -> Ptr {
    let slot = |slot| PyType_GetSlot(&raw mut PyDict_Type, slot);
    // The slots are functions of these types.
    let (new, dealloc_dict) = (transmute(slot(TP_NEW)), transmute(slot(TP_DEALLOC)));
    OF_DICT = OfDict { new, dealloc: dealloc_dict, no_arguments: PyTuple_New(0) };
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
    let of_dict = &raw const OF_DICT;
    let Some(new) = (*of_dict).new else { return ptr::null_mut() };
    let object = new(class, (*of_dict).no_arguments, ptr::null_mut());
    let named = if names.is_null() || object.is_null() { 0 } else { len(names) };
    for at in 0..named {
        if PyDict_SetItem(object, element(names, at), *args.add(at)) != 0 {
            release(object);
            return ptr::null_mut();
        }
    }
    object
}

unsafe extern "C" fn dealloc(object: Ptr) {
    let class = (*object).class;
    if let Some(dealloc) = (*&raw const OF_DICT).dealloc {
        dealloc(object);
        release(class);
    }
}
