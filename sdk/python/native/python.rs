//! The part of CPython's C API that the module uses, as Python 3.14 has it for 32-bit WebAssembly.

use core::ffi::{c_char, c_int, c_uint, c_ulong, c_ulonglong, c_void};
use core::ptr;

/// What each object begins with.
#[repr(C)]
pub struct Object {
    refcnt: isize,
    pub class: Ptr,
}

/// A reference, counted by hand; null stands for an error that Python raises.
pub type Ptr = *mut Object;

/// A tuple, up to its first element.
#[repr(C)]
struct TupleHead {
    object: Object,
    len: usize,
    hash: isize,
}

/// A list, but for how many elements it has room for.
#[repr(C)]
pub struct ListHead {
    object: Object,
    pub len: usize,
    pub elements: *mut Ptr,
}

/// A method of an object.
#[repr(C)]
struct Method {
    object: Object,
    function: Ptr,
    of: Ptr,
}

/// From this count on an object lives for ever, and is not counted.
const IMMORTAL: isize = 1 << 30;

pub const METH_VARARGS: c_int = 1;
pub const METH_NOARGS: c_int = 4;
pub const METH_O: c_int = 8;
pub const T_UINT: c_int = 11;
pub const T_OBJECT_EX: c_int = 16;
pub const READ_ONLY: c_int = 1;
pub const TP_BASE: c_int = 48;
pub const TP_DEALLOC: c_int = 52;
pub const TP_NEW: c_int = 65;
pub const TP_MEMBERS: c_int = 72;
pub const TP_VECTORCALL: c_int = 82;
/// Not made by `object.__new__`, which would leave its fields empty.
pub const DISALLOW_INSTANTIATION: c_uint = 1 << 7;
/// The count of arguments of a vector call, without the flag that their array may be written to.
pub const ARGUMENTS: usize = usize::MAX >> 1;

pub type Function = unsafe extern "C" fn(Ptr, Ptr) -> Ptr;
pub type Construct = unsafe extern "C" fn(Ptr, *const Ptr, usize, Ptr) -> Ptr;
pub type New = unsafe extern "C" fn(Ptr, Ptr, Ptr) -> Ptr;
pub type Dealloc = unsafe extern "C" fn(Ptr);

#[repr(C)]
pub struct MethodDef {
    pub name: *const c_char,
    pub function: Option<Function>,
    pub flags: c_int,
    pub doc: *const c_char,
}

impl MethodDef {
    pub const END: MethodDef =
        MethodDef { name: ptr::null(), function: None, flags: 0, doc: ptr::null() };

    pub const fn new(name: &'static core::ffi::CStr, function: Function, flags: c_int) -> Self {
        MethodDef { name: name.as_ptr(), function: Some(function), flags, doc: ptr::null() }
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct MemberDef {
    pub name: *const c_char,
    pub kind: c_int,
    pub offset: isize,
    pub flags: c_int,
    pub doc: *const c_char,
}

impl MemberDef {
    pub const END: MemberDef =
        MemberDef { name: ptr::null(), kind: 0, offset: 0, flags: 0, doc: ptr::null() };
}

#[repr(C)]
pub struct ModuleDef {
    head: [usize; 5],
    name: *const c_char,
    doc: *const c_char,
    size: isize,
    methods: *mut MethodDef,
    rest: [usize; 4],
}

impl ModuleDef {
    pub const fn new(name: &'static core::ffi::CStr, methods: *mut MethodDef) -> ModuleDef {
        let (name, doc) = (name.as_ptr(), ptr::null());
        ModuleDef { head: [1, 0, 0, 0, 0], name, doc, size: -1, methods, rest: [0; 4] }
    }
}

#[repr(C)]
pub struct Slot {
    pub slot: c_int,
    pub value: *mut c_void,
}

#[repr(C)]
pub struct TypeSpec {
    pub name: *const c_char,
    pub size: c_int,
    pub item_size: c_int,
    pub flags: c_uint,
    pub slots: *mut Slot,
}

unsafe extern "C" {
    pub static mut PyExc_TypeError: Ptr;
    pub static mut PyExc_ValueError: Ptr;
    pub static mut PyDict_Type: Object;
    pub static mut PyList_Type: Object;
    pub static mut PyMethod_Type: Object;
    pub static mut _Py_EllipsisObject: Object;
    pub static mut _Py_NoneStruct: Object;

    pub fn PyBytes_AsStringAndSize(bytes: Ptr, data: *mut *mut u8, len: *mut isize) -> c_int;
    pub fn PyBytes_FromObject(object: Ptr) -> Ptr;
    pub fn PyBytes_FromStringAndSize(data: *const u8, len: isize) -> Ptr;
    pub fn PyDescr_NewMember(class: Ptr, member: *mut MemberDef) -> Ptr;
    pub fn PyDescr_NewMethod(class: Ptr, method: *mut MethodDef) -> Ptr;
    pub fn PyDict_New() -> Ptr;
    pub fn PyDict_SetItem(dict: Ptr, key: Ptr, value: Ptr) -> c_int;
    pub fn PyDict_Next(dict: Ptr, at: *mut isize, key: *mut Ptr, value: *mut Ptr) -> c_int;
    pub fn PyDict_Size(dict: Ptr) -> isize;
    pub fn PyErr_Clear();
    pub fn PyErr_Format(class: Ptr, format: *const c_char, ...) -> Ptr;
    pub fn PyErr_NoMemory() -> Ptr;
    pub fn PyErr_Occurred() -> Ptr;
    pub fn PyList_New(len: isize) -> Ptr;
    pub fn PyList_SetItem(list: Ptr, place: isize, value: Ptr) -> c_int;
    pub fn PyLong_AsUnsignedLongLong(number: Ptr) -> c_ulonglong;
    pub fn PyLong_FromUnsignedLong(number: c_ulong) -> Ptr;
    pub fn PyLong_FromUnsignedLongLong(number: c_ulonglong) -> Ptr;
    pub fn PyMem_Calloc(count: usize, len: usize) -> *mut c_void;
    pub fn PyMem_Free(memory: *mut c_void);
    pub fn PyModule_Create2(module: *mut ModuleDef, version: c_int) -> Ptr;
    pub fn PyObject_Free(memory: *mut c_void);
    pub fn PyObject_Init(object: Ptr, class: Ptr) -> Ptr;
    pub fn PyObject_Malloc(len: usize) -> *mut c_void;
    pub fn PyObject_Realloc(memory: *mut c_void, len: usize) -> *mut c_void;
    pub fn PyObject_SetAttrString(object: Ptr, name: *const c_char, value: Ptr) -> c_int;
    pub fn PyObject_Vectorcall(function: Ptr, args: *const Ptr, count: usize, names: Ptr) -> Ptr;
    pub fn PyTuple_New(len: isize) -> Ptr;
    pub fn PyType_FromSpec(spec: *mut TypeSpec) -> Ptr;
    pub fn PyType_GetSlot(class: Ptr, slot: c_int) -> *mut c_void;
    pub fn PyUnicode_AsUTF8AndSize(text: Ptr, len: *mut isize) -> *const c_char;
    pub fn PyUnicode_Compare(one: Ptr, other: Ptr) -> c_int;
    pub fn PyUnicode_FromStringAndSize(text: *const u8, len: isize) -> Ptr;
    pub fn PyUnicode_InternFromString(text: *const c_char) -> Ptr;
    fn _Py_Dealloc(object: Ptr);
}

/// Counts a reference more.
#[inline]
pub unsafe fn shared(object: Ptr) -> Ptr {
    if (*object).refcnt < IMMORTAL {
        (*object).refcnt += 1;
    }
    object
}

/// Gives a reference back; null is none.
#[inline]
pub unsafe fn release(object: Ptr) {
    if object.is_null() || (*object).refcnt >= IMMORTAL {
        return;
    }
    (*object).refcnt -= 1;
    if (*object).refcnt == 0 {
        _Py_Dealloc(object);
    }
}

/// Whether an object has references besides one.
#[inline]
pub unsafe fn shared_elsewhere(object: Ptr) -> bool {
    !object.is_null() && (*object).refcnt > 1
}

/// Makes an object that was given up the only reference to itself.
#[inline]
pub unsafe fn revived(object: Ptr) -> Ptr {
    (*object).refcnt = 1;
    object
}

#[inline]
pub fn none() -> Ptr {
    &raw mut _Py_NoneStruct
}

/// A number of the range of `u64`; none for what is none, and Python raises nothing.
#[inline]
pub unsafe fn number(object: Ptr) -> Option<u64> {
    let number = PyLong_AsUnsignedLongLong(object);
    if number == u64::MAX && !PyErr_Occurred().is_null() {
        PyErr_Clear();
        return None;
    }
    Some(number)
}

/// How many elements a tuple has.
#[inline]
pub unsafe fn len(tuple: Ptr) -> usize {
    (*tuple.cast::<TupleHead>()).len
}

/// An element of a tuple, which has so many, lent.
#[inline]
pub unsafe fn element(tuple: Ptr, place: usize) -> Ptr {
    tuple.cast::<TupleHead>().add(1).cast::<Ptr>().add(place).read()
}

/// The one element of a list, lent; null where it is no list, or has others.
#[inline]
pub unsafe fn only(list: Ptr) -> Ptr {
    if list.is_null() || (*list).class != &raw mut PyList_Type {
        return ptr::null_mut();
    }
    match (*list.cast::<ListHead>()).len {
        1 => (*list.cast::<ListHead>()).elements.read(),
        _ => ptr::null_mut(),
    }
}

/// Calls a function of one argument, or a method.
#[inline]
pub unsafe fn call(function: Ptr, argument: Ptr) -> Ptr {
    if (*function).class != &raw mut PyMethod_Type {
        return PyObject_Vectorcall(function, &raw const argument, 1, ptr::null_mut());
    }
    let method = function.cast::<Method>();
    let args = [(*method).of, argument];
    PyObject_Vectorcall((*method).function, args.as_ptr(), 2, ptr::null_mut())
}
