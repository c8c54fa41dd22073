//! The answer of a learning switch: a flow for a request's port, addresses and VLAN, and its
//! packet.

use aldis_control::{Output, RequestHeader};
use aldis_records::{Command, FlowSpec, flags};
use aldis_wire::types::{L2FlowSpec, L2Hit};
use aldis_wire::{NO_BUFFER, Version, v10, v13};

use super::{Applier, Refusal, Target, place};
use crate::grants::GrantedMessages;
use crate::limits::TEMPLATES_MAX;

/// The EtherType of a VLAN tag.
const VLAN: [u8; 2] = [0x81, 0x00];

/// A frame without a tag, in the words of the templates.
const UNTAGGED: u16 = 0xffff;

/// Templates of the flows that the application installs, the last used first.
#[derive(Default)]
pub(super) struct FlowTemplates(Vec<(FlowSpec, bool, FlowTemplate)>);

struct FlowTemplate {
    v10: v10::template::L2Flow,
    v13: v13::template::L2Flow,
}

impl FlowTemplates {
    /// The template of a kind of flow.
    #[inline]
    fn of(
        &mut self,
        spec: FlowSpec,
        tells: bool,
        make: impl FnOnce() -> L2FlowSpec,
    ) -> &FlowTemplate {
        let kept = self.0.iter().position(|(kept, tell, _)| *kept == spec && *tell == tells);
        match kept {
            Some(0) => {}
            Some(place) => self.0.swap(0, place),
            None => self.add(spec, tells, &make()),
        }
        &self.0[0].2
    }

    #[cold]
    fn add(&mut self, spec: FlowSpec, tells: bool, flows: &L2FlowSpec) {
        self.0.truncate(TEMPLATES_MAX - 1);
        let (v10, v13) = (v10::template::L2Flow::new(flows), v13::template::L2Flow::new(flows));
        self.0.insert(0, (spec, tells, FlowTemplate { v10, v13 }));
    }
}

impl FlowTemplate {
    #[inline]
    fn stamp(&self, version: Version, hit: &L2Hit, out: &mut Output) {
        match version {
            Version::V10 => self.v10.stamp(out.stamp(), hit),
            Version::V13 => self.v13.stamp(out.stamp(), hit),
        }
    }
}

impl Applier {
    /// Adds a flow for a request, and sends its packet.
    #[inline(never)]
    pub(super) fn flow(
        &mut self,
        command: &Command<'_>,
        target: &mut Target<'_, '_>,
    ) -> Result<u64, Refusal> {
        let (Target::Batch { batch, runs, out }, Some(spec)) = (target, command.flow()) else {
            return Err("a flow for an event that has no packet".to_owned());
        };
        let (index, run) = place(command.request, runs);
        let switch = &batch.switches[batch.runs[run].switch].info;
        let request = batch.requests[index];
        self.may(GrantedMessages::FLOW_MOD.with(GrantedMessages::PACKET_OUT), switch)?;
        let frame = batch.frame(&request);
        let hit = hit(&request, frame, command.value).ok_or("a frame without addresses")?;
        out.select(run);
        let tells = command.flags & flags::TELL_REMOVED != 0;
        let cookie = self.cookie.generation(spec.generation).0;
        let template = self.flows.of(spec, tells, || L2FlowSpec {
            idle_timeout_s: spec.idle_timeout_s,
            hard_timeout_s: spec.hard_timeout_s,
            priority: spec.priority,
            cookie,
            send_flow_removed: tells,
        });
        match self.hosted.tables.are_guarded(switch) {
            true => {
                let table = self.hosted.tables.forwarding(switch);
                template.v13.clone().in_table(table).stamp(out.stamp(), &hit);
            }
            false => template.stamp(switch.version, &hit, out),
        }
        if request.buffer_id != NO_BUFFER {
            return Ok(1);
        }
        self.releases.send(switch.version, &request, (command.value, frame), out).map(|()| 2)
    }
}

#[inline]
fn hit(request: &RequestHeader, frame: &[u8], out_port: u32) -> Option<L2Hit> {
    let head: &[u8; 14] = frame.first_chunk()?;
    let vlan = match (&head[12..14], frame.get(14..16)) {
        (ethertype, Some(tag)) if ethertype == VLAN => u16::from_be_bytes([tag[0] & 0x0f, tag[1]]),
        _ => UNTAGGED,
    };
    let word = |bytes: &[u8]| bytes.first_chunk().map(|word| u64::from_be_bytes(*word));
    Some(L2Hit {
        xid: request.xid,
        in_port: request.in_port,
        eth_src: word(&head[4..])? & 0xffff_ffff_ffff,
        eth_dst: word(head)? >> 16,
        vlan,
        buffer_id: request.buffer_id,
        out_port,
    })
}
