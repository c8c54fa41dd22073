//! A grant: what a guest may see and change, compiled so that requests and messages can be held
//! against it.

use aldis_apps::match_bits::{PacketBits, TernaryMatch};
use aldis_apps::spelling::Spelled;
use aldis_control::weights::Switches;
use aldis_wire::msg::{Field, Match, PortNo};

use crate::spec::{GuestSpec, NumberRanges};

/// What a guest may see and change.
#[derive(Clone, Debug)]
pub(crate) struct Grant {
    spec: GuestSpec,
    /// The packets of its own; none where all are.
    own: Option<TernaryMatch>,
}

/// A match has nothing to do with the packets of the grant, or crosses them where one flow cannot
/// say both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Outside;

impl Grant {
    pub(crate) fn of(spec: GuestSpec) -> Grant {
        let own = (!spec.matching.0.fields.is_empty()).then(|| TernaryMatch::of(&spec.matching.0));
        Grant { spec, own }
    }

    pub(crate) fn spec(&self) -> &GuestSpec {
        &self.spec
    }

    /// Whether it has the port; reserved ports are no one port.
    pub(crate) fn has_port(&self, port: PortNo) -> bool {
        self.spec.ports.as_ref().is_none_or(|ports| ports.0.contains(port.0))
    }

    /// Whether a request is of its own.
    #[inline]
    pub(crate) fn has_packet(&self, in_port: PortNo, frame: &[u8]) -> bool {
        if self.is_whole() {
            return true;
        }
        let own = |own: &TernaryMatch| own.matches(&PacketBits::of(in_port, frame));
        self.has_port(in_port) && self.own.as_ref().is_none_or(own)
    }

    /// Whether a packet that the guest sends is of its own, whatever port it names as the incoming
    /// one.
    pub(crate) fn has_frame(&self, in_port: PortNo, frame: &[u8]) -> bool {
        self.own.as_ref().is_none_or(|own| own.matches(&PacketBits::of(in_port, frame)))
    }

    /// Whether all packets and ports are its own, so that no match and no action need be looked at.
    #[inline]
    pub(crate) fn is_whole(&self) -> bool {
        self.own.is_none() && self.spec.ports.is_none()
    }

    /// Whether packets can be passed on without their actions being looked at.
    pub(crate) fn passes_packets(&self) -> bool {
        self.is_whole() && self.spec.groups.is_none() && !self.spec.read_only
    }

    /// Whether flows can be passed on without being looked at beyond their cookies.
    pub(crate) fn passes_flows(&self) -> bool {
        let GuestSpec { tables, priorities, meters, .. } = &self.spec;
        self.passes_packets() && tables.is_none() && priorities.is_none() && meters.is_none()
    }

    /// Whether it is granted ports one by one.
    pub(crate) fn has_ports_named(&self) -> bool {
        self.spec.ports.is_some()
    }

    pub(crate) fn has_table(&self, table: u8) -> bool {
        self.spec.tables.as_ref().is_none_or(|tables| tables.0.contains(table.into()))
    }

    pub(crate) fn has_priority(&self, priority: u16) -> bool {
        let priorities = self.spec.priorities.as_ref();
        priorities.is_none_or(|priorities| priorities.0.contains(priority.into()))
    }

    /// Whether it has the group. A slice of the packets has none that are not named.
    pub(crate) fn has_group(&self, group: u32) -> bool {
        let groups = self.spec.groups.as_ref();
        groups.map_or(self.is_whole(), |groups| groups.0.contains(group))
    }

    /// Whether it has the meter. A slice of the packets has none that are not named.
    pub(crate) fn has_meter(&self, meter: u32) -> bool {
        let meters = self.spec.meters.as_ref();
        meters.map_or(self.is_whole(), |meters| meters.0.contains(meter))
    }

    /// Whether messages that this experimenter defines are passed on.
    pub(crate) fn has_experimenter(&self, experimenter: u32) -> bool {
        let granted = self.spec.experimenters.as_ref();
        granted.is_some_and(|granted| granted.0.contains(experimenter))
    }

    /// The match, as narrow as the packets of the grant are: its fields are added where they are
    /// absent.
    pub(crate) fn narrowed(&self, match_: &Match) -> Result<Match, Outside> {
        let Some(own) = &self.own else { return Ok(match_.clone()) };
        if own.is_apart_from(&TernaryMatch::of(match_)) {
            return Err(Outside);
        }
        let mut fields = match_.fields.clone();
        for granted in &self.spec.matching.0.fields {
            let at = fields.iter().position(|field| same_kind(field, granted));
            match at {
                None => fields.push(granted.clone()),
                Some(at) if single(granted).covers(&single(&fields[at])) => {}
                // Wider in this field than the grant: the grant's value is the narrower one.
                Some(at) if single(&fields[at]).covers(&single(granted)) => {
                    fields[at] = granted.clone();
                }
                Some(_) => return Err(Outside),
            }
        }
        Ok(Match { fields })
    }

    /// The match without what [`Grant::narrowed`] adds, as the guest said it as far as can be told.
    pub(crate) fn widened(&self, match_: &Match) -> Match {
        let granted = &self.spec.matching.0.fields;
        let fields = match_.fields.iter().filter(|field| !granted.contains(field));
        Match { fields: fields.cloned().collect() }
    }

    /// Whether an action may set this field: not out of its own packets.
    pub(crate) fn may_set(&self, field: &Field) -> bool {
        let mut granted = self.spec.matching.0.fields.iter();
        granted.all(|granted| !same_kind(field, granted) || single(granted).covers(&single(field)))
    }

    /// Whether its packets are told by a tag, which no action may put on or take off then.
    pub(crate) fn is_by_vlan(&self) -> bool {
        self.spec.matching.0.fields.iter().any(|field| matches!(field, Field::VlanVid(_)))
    }

    /// What both of two grants have, so that they cannot be held by two guests that both change the
    /// network; nothing where they are apart.
    pub(crate) fn overlap(&self, other: &Grant) -> Option<&'static str> {
        let (one, two) = (&self.spec, &other.spec);
        let looks_on = |spec: &GuestSpec| spec.read_only || spec.observe;
        if looks_on(one) || looks_on(two) || switches_apart(one, two) {
            return None;
        }
        let own_apart =
            matches!((&self.own, &other.own), (Some(one), Some(two)) if one.is_apart_from(two));
        let packets_apart = own_apart || apart(&one.ports, &two.ports);
        let flows_apart = packets_apart
            || apart(&one.tables, &two.tables)
            || apart(&one.priorities, &two.priorities);
        let share =
            |one_has: bool, two_has: bool, are_apart: bool| one_has && two_has && !are_apart;
        let has =
            |grant: &Grant, numbers: &Option<GrantedNumbers>| numbers.is_some() || grant.is_whole();
        let groups =
            share(has(self, &one.groups), has(other, &two.groups), apart(&one.groups, &two.groups));
        let meters =
            share(has(self, &one.meters), has(other, &two.meters), apart(&one.meters, &two.meters));
        match () {
            () if !flows_apart => Some("packets"),
            () if groups => Some("groups"),
            () if meters => Some("meters"),
            () => None,
        }
    }
}

type GrantedNumbers = Spelled<NumberRanges>;

fn apart(one: &Option<GrantedNumbers>, two: &Option<GrantedNumbers>) -> bool {
    matches!((one, two), (Some(one), Some(two)) if !one.0.overlaps(&two.0))
}

fn switches_apart(one: &GuestSpec, two: &GuestSpec) -> bool {
    let (one, two) = (&one.switches, &two.switches);
    let meet = |some: &Spelled<Switches>| two.iter().any(|other| some.0.overlaps(&other.0));
    !one.is_empty() && !two.is_empty() && !one.iter().any(meet)
}

/// A field alone.
fn single(field: &Field) -> TernaryMatch {
    TernaryMatch::of(&Match { fields: vec![field.clone()] })
}

/// Whether two fields are of one kind, whatever their values.
fn same_kind(one: &Field, two: &Field) -> bool {
    std::mem::discriminant(one) == std::mem::discriminant(two)
}
