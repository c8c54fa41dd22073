//! Records: classes whose objects are a row of fields, made by one call with what Python's own
//! functions accept (by place, by name, with defaults).
//!
//! The methods of a record are written in Python. Objects of a record are not looked at by Python's
//! collector of cycles: one that an application has hold itself is not given back.

use core::ffi::{c_char, c_void};
use core::ptr;

use crate::python::*;

/// Records there can be, and fields of one; the SDK has fewer.
const RECORDS: usize = 16;
const FIELDS: usize = 20;

/// What is known of a record.
pub struct RecordType {
    pub class: Ptr,
    /// Names of fields, then names that are accepted and not kept.
    names: [Ptr; FIELDS],
    /// What a field is that is not named; null where it has to be.
    defaults: [Ptr; FIELDS],
    /// The defaults that are numbers.
    numbers: [u64; FIELDS],
    accepted: usize,
    fields: usize,
    /// Bytes of an object.
    size: usize,
    /// An object that was given up, without fields: the next one.
    spare: Ptr,
}

const EMPTY: RecordType = RecordType {
    class: ptr::null_mut(),
    names: [ptr::null_mut(); FIELDS],
    defaults: [ptr::null_mut(); FIELDS],
    numbers: [0; FIELDS],
    accepted: 0,
    fields: 0,
    size: 0,
    spare: ptr::null_mut(),
};

static mut ALL: [RecordType; RECORDS] = [EMPTY; RECORDS];
static mut COUNT: usize = 0;

type Maker = (Construct, Dealloc);

/// The functions of each record: which record it is about is compiled into them.
const MAKERS: [Maker; RECORDS] = [
    (construct::<0>, dealloc::<0>),
    (construct::<1>, dealloc::<1>),
    (construct::<2>, dealloc::<2>),
    (construct::<3>, dealloc::<3>),
    (construct::<4>, dealloc::<4>),
    (construct::<5>, dealloc::<5>),
    (construct::<6>, dealloc::<6>),
    (construct::<7>, dealloc::<7>),
    (construct::<8>, dealloc::<8>),
    (construct::<9>, dealloc::<9>),
    (construct::<10>, dealloc::<10>),
    (construct::<11>, dealloc::<11>),
    (construct::<12>, dealloc::<12>),
    (construct::<13>, dealloc::<13>),
    (construct::<14>, dealloc::<14>),
    (construct::<15>, dealloc::<15>),
];

#[inline]
fn record(place: usize) -> *mut RecordType {
    // SAFETY: there are no more places than this, which `record_type` sees to.
    unsafe { (&raw mut ALL).cast::<RecordType>().add(place) }
}

/// The record of a class; null where it is none.
pub unsafe fn of_class(class: Ptr) -> *mut RecordType {
    for place in 0..COUNT {
        if (*record(place)).class == class {
            return record(place);
        }
    }
    ptr::null_mut()
}

/// The fields of an object.
#[inline]
pub unsafe fn fields(object: Ptr) -> *mut Ptr {
    object.add(1).cast()
}

#[inline]
pub unsafe fn field(object: Ptr, place: usize) -> Ptr {
    *fields(object).add(place)
}

impl RecordType {
    /// A new object whose fields are all null.
    #[inline]
    pub unsafe fn blank(&mut self) -> Ptr {
        if !self.spare.is_null() {
            let object = revived(self.spare);
            self.spare = ptr::null_mut();
            return object;
        }
        let object: Ptr = PyObject_Malloc(self.size).cast();
        if object.is_null() {
            return PyErr_NoMemory();
        }
        ptr::write_bytes(object.cast::<u8>(), 0, self.size);
        object.byte_add(self.itself()).cast::<Ptr>().write(object);
        PyObject_Init(object, self.class)
    }

    /// Where an object has its own address: an attribute that is read there is the object, and
    /// Python reads such an attribute as fast as a field. It counts no reference.
    pub fn itself(&self) -> usize {
        self.size - 4
    }

    /// Whether its fields are these, in this order.
    pub unsafe fn is(&self, names: &[&core::ffi::CStr]) -> bool {
        let same = |(place, name): (usize, &&core::ffi::CStr)| {
            let name = PyUnicode_InternFromString(name.as_ptr());
            place < self.fields && self.names.as_ptr().add(place).read() == name
        };
        names.iter().enumerate().all(same)
    }

    /// A field as a number up to `max`.
    #[inline]
    pub unsafe fn number(&self, object: Ptr, place: usize, max: u64) -> Option<u64> {
        let value = field(object, place);
        if value.is_null() {
            return None;
        }
        if value == self.defaults.as_ptr().add(place).read() {
            return Some(self.numbers.as_ptr().add(place).read());
        }
        number(value).filter(|&number| number <= max)
    }

    /// The place of a name from `from` on, round to what is before it.
    #[inline]
    unsafe fn place_of(&self, name: Ptr, from: usize) -> Option<usize> {
        let names = self.names.as_ptr();
        let mut place = from;
        for _ in 0..self.accepted {
            if place >= self.accepted {
                place = 0;
            }
            if names.add(place).read() == name {
                return Some(place);
            }
            place += 1;
        }
        // A name that was made at run time is another object with the same text.
        (0..self.accepted).find(|&place| PyUnicode_Compare(names.add(place).read(), name) == 0)
    }

    /// Accepts one name more.
    unsafe fn accept(&mut self, name: Ptr, default: Ptr) {
        let at = self.accepted;
        self.names.as_mut_ptr().add(at).write(shared(name));
        if default != &raw mut _Py_EllipsisObject {
            self.defaults.as_mut_ptr().add(at).write(shared(default));
            self.numbers.as_mut_ptr().add(at).write(number(default).unwrap_or(0));
        }
        self.accepted = at + 1;
    }

    /// Sets a field of a new object; false, and Python raises it, where it has a value already.
    #[inline]
    unsafe fn set(&self, object: Ptr, place: usize, value: Ptr) -> bool {
        if place >= self.fields {
            return true;
        }
        let field = fields(object).add(place);
        if !(*field).is_null() {
            let text = c"%U has more than one value".as_ptr();
            PyErr_Format(PyExc_TypeError, text, self.names.as_ptr().add(place).read());
            return false;
        }
        *field = shared(value);
        true
    }

    /// Gives fields without a value their defaults.
    #[inline]
    unsafe fn complete(&self, object: Ptr) -> bool {
        for place in 0..self.fields {
            let field = fields(object).add(place);
            if !(*field).is_null() {
                continue;
            }
            let default = self.defaults.as_ptr().add(place).read();
            if default.is_null() {
                let name = self.names.as_ptr().add(place).read();
                PyErr_Format(PyExc_TypeError, c"%U is missing".as_ptr(), name);
                return false;
            }
            *field = shared(default);
        }
        true
    }

    #[inline]
    unsafe fn fill(&self, object: Ptr, args: *const Ptr, count: usize, names: Ptr) -> bool {
        if count > self.accepted {
            let text = c"%zd values where there are %zd".as_ptr();
            PyErr_Format(PyExc_TypeError, text, count, self.accepted);
            return false;
        }
        for place in 0..count {
            if !self.set(object, place, *args.add(place)) {
                return false;
            }
        }
        let named = if names.is_null() { 0 } else { len(names) };
        let mut from = count;
        for at in 0..named {
            let name = element(names, at);
            let Some(place) = self.place_of(name, from) else {
                PyErr_Format(PyExc_TypeError, c"there is no %U".as_ptr(), name);
                return false;
            };
            if !self.set(object, place, *args.add(count + at)) {
                return false;
            }
            from = place + 1;
        }
        self.complete(object)
    }
}

unsafe extern "C" fn construct<const I: usize>(
    _class: Ptr,
    args: *const Ptr,
    count: usize,
    names: Ptr,
) -> Ptr {
    let record = record(I);
    let object = (*record).blank();
    if !object.is_null() && !(*record).fill(object, args, count & ARGUMENTS, names) {
        release(object);
        return ptr::null_mut();
    }
    object
}

unsafe extern "C" fn dealloc<const I: usize>(object: Ptr) {
    let record = record(I);
    for place in 0..(*record).fields {
        let value = fields(object).add(place).replace(ptr::null_mut());
        release(value);
    }
    if (*record).spare.is_null() {
        (*record).spare = object;
        return;
    }
    let class = (*object).class;
    PyObject_Free(object.cast());
    release(class);
}

/// `record_type(name, (parameters, attributes, defaults), ignored, numbers)`: a new class.
///
/// A default of `...` is none. `numbers` are names of unsigned numbers that the module writes and
/// Python reads.
pub unsafe extern "C" fn record_type(_module: Ptr, args: Ptr) -> Ptr {
    let argument = |place| element(args, place);
    let named = |place| element(argument(1), place);
    let (parameters, attributes, defaults) = (named(0), named(1), named(2));
    let (ignored, numbers) = (argument(2), argument(3));
    let (fields, others) = (len(parameters), len(ignored));
    let all = fields + len(numbers);
    if COUNT == RECORDS || fields + others > FIELDS || all > FIELDS {
        return PyErr_Format(PyExc_ValueError, c"there are too many of these".as_ptr());
    }
    let this = record(COUNT);
    let mut members = [MemberDef::END; FIELDS + 1];
    let members = members.as_mut_ptr();
    for at in 0..fields {
        (*this).accept(element(parameters, at), element(defaults, at));
        let attribute = element(attributes, at);
        members.add(at).write(member(attribute, T_OBJECT_EX, at, 0));
    }
    for at in 0..others {
        (*this).accept(element(ignored, at), &raw mut _Py_EllipsisObject);
    }
    for at in fields..all {
        let name = shared(element(numbers, at - fields));
        members.add(at).write(member(name, T_UINT, at, READ_ONLY));
    }
    (*this).fields = fields;
    (*this).size = size_of::<Object>() + 4 * (all + 1);
    (*this).class = class(argument(0), (*this).size, members, COUNT);
    if (*this).class.is_null() {
        return ptr::null_mut();
    }
    COUNT += 1;
    shared((*this).class)
}

unsafe fn member(name: Ptr, kind: i32, place: usize, flags: i32) -> MemberDef {
    let offset = (size_of::<Object>() + 4 * place) as isize;
    MemberDef { name: text(name), kind, offset, flags, doc: ptr::null() }
}

unsafe fn class(name: Ptr, size: usize, members: *mut MemberDef, place: usize) -> Ptr {
    let (construct, dealloc) = MAKERS.as_ptr().add(place).read();
    let mut slots = [
        Slot { slot: TP_MEMBERS, value: members.cast() },
        Slot { slot: TP_DEALLOC, value: dealloc as *mut c_void },
        Slot { slot: TP_VECTORCALL, value: construct as *mut c_void },
        Slot { slot: 0, value: ptr::null_mut() },
    ];
    let mut spec = TypeSpec {
        name: text(name),
        size: size as i32,
        item_size: 0,
        flags: DISALLOW_INSTANTIATION,
        slots: slots.as_mut_ptr(),
    };
    PyType_FromSpec(&raw mut spec)
}

/// A text of Python, for as long as that lives.
pub unsafe fn text(text: Ptr) -> *const c_char {
    PyUnicode_AsUTF8AndSize(text, ptr::null_mut())
}
