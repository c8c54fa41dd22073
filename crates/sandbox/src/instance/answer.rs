//! The bytes that a call answers: it returns them, or appends them beforehand, as the contract has
//! it for the world `app-appending`.

use wasmtime::component::{ComponentNamedList, Instance as Linked, Lower, TypedFunc, WasmList};
use wasmtime::{Error, Result, Store, StoreContextMut};

use super::InstanceState;
use crate::fault::{Fault, FaultKind};
use crate::limits::HANDED_BYTES_MAX;

/// A call that answers bytes.
pub(super) enum BytesFunc<P> {
    Returns(TypedFunc<P, (Vec<u8>,)>),
    Appends(TypedFunc<P, ()>),
}

impl<P: ComponentNamedList + Lower> BytesFunc<P> {
    /// The call of this name.
    ///
    /// # Errors
    /// The component exports none, or one of another type.
    pub(super) fn find(
        linked: &Linked,
        store: &mut Store<InstanceState>,
        name: &str,
    ) -> Result<BytesFunc<P>> {
        let func = linked.get_func(&mut *store, name);
        let func = func.ok_or_else(|| Error::msg(format!("export {name}: missing")))?;
        match func.typed(&*store) {
            Ok(appends) => Ok(BytesFunc::Appends(appends)),
            Err(_) => func.typed(&*store).map(BytesFunc::Returns),
        }
    }

    /// The answer: what was appended, and then what the call returns.
    pub(super) fn call(&self, store: &mut Store<InstanceState>, params: P) -> Result<Vec<u8>> {
        match self {
            BytesFunc::Appends(func) => {
                func.call(&mut *store, params)?;
                Ok(appended(store))
            }
            BytesFunc::Returns(func) => {
                let (returned,) = func.call(&mut *store, params)?;
                let mut answer = appended(store);
                match answer.is_empty() {
                    true => Ok(returned),
                    false => {
                        answer.extend(returned);
                        Ok(answer)
                    }
                }
            }
        }
    }
}

/// What was appended in the call that is over.
pub(super) fn appended(store: &mut Store<InstanceState>) -> Vec<u8> {
    std::mem::take(&mut store.data_mut().answer)
}

/// Appends bytes to the answer to the call in hand.
pub(super) fn append(
    mut store: StoreContextMut<'_, InstanceState>,
    (bytes,): (WasmList<u8>,),
) -> Result<()> {
    let mut answer = std::mem::take(&mut store.data_mut().answer);
    let bytes = bytes.as_le_slice(&store);
    if bytes.len() > HANDED_BYTES_MAX - answer.len() {
        let reason = format!("more than {HANDED_BYTES_MAX} bytes are appended to an answer");
        return Err(Fault::new(FaultKind::Flood, reason).into());
    }
    answer.extend_from_slice(bytes);
    store.data_mut().answer = answer;
    Ok(())
}
