//! What a key is good for, and what each route needs.

use std::fmt;
use std::str::FromStr;

/// What a key may do; each role includes those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Role {
    /// Look.
    Read,
    /// Change the network: flows, rules, weights.
    Write,
    /// Change the controller itself: what it keeps, what it runs.
    Admin,
}

/// Below these, whatever is not read is for administrators; and what is read too where it is a
/// secret.
const OF_ADMINS: [(&str, bool); 3] =
    [("/api/v1/store", true), ("/api/v1/config", false), ("/api/v1/reload", false)];

/// What is asked for with a body, and changes nothing.
const QUESTIONS: [&str; 4] = [
    "/api/v1/trace",
    "/stats/flow/{dpid}",
    "/stats/flowdesc/{dpid}",
    "/stats/aggregateflow/{dpid}",
];

/// What is asked for without a body, and changes something: as scripts of Floodlight's ask for it.
const ORDERS: [&str; 3] = [
    "/wm/staticentrypusher/clear/{dpid}/json",
    "/wm/staticflowpusher/clear/{dpid}/json",
    "/wm/staticflowentrypusher/clear/{dpid}/json",
];

impl Role {
    /// All, the least first.
    pub const ALL: [Role; 3] = [Role::Read, Role::Write, Role::Admin];

    /// What a route needs, by its method and its path as the router has it. A route that the table
    /// does not name needs a role that is good enough for its method.
    pub(crate) fn needed(method: &str, path: &str) -> Role {
        let looks = ["get", "head", "options"].contains(&method) && !ORDERS.contains(&path);
        let reads = looks || QUESTIONS.contains(&path);
        let below = |prefix: &str| {
            path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        match OF_ADMINS.iter().find(|(prefix, _)| below(prefix)) {
            Some((_, secret)) if *secret || !reads => Role::Admin,
            _ if reads => Role::Read,
            _ => Role::Write,
        }
    }

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Role::Read => "read",
            Role::Write => "write",
            Role::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// There is no such role.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadRole(String);

impl fmt::Display for BadRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no role {:?}; the roles are: read, write, admin", self.0)
    }
}

impl std::error::Error for BadRole {}

impl FromStr for Role {
    type Err = BadRole;

    fn from_str(name: &str) -> Result<Self, BadRole> {
        let found = Role::ALL.into_iter().find(|role| role.name() == name);
        found.ok_or_else(|| BadRole(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_needs_what_its_method_does() {
        for (method, path, role) in [
            ("get", "/api/v1/switches", Role::Read),
            ("get", "/api/v1/nobody/thought/of/it", Role::Read),
            ("post", "/api/v1/flows", Role::Write),
            ("brew", "/coffee", Role::Write),
            ("post", "/api/v1/trace", Role::Read),
            ("post", "/api/v1/tracer", Role::Write),
            ("get", "/api/v1/store/export", Role::Admin),
            ("post", "/api/v1/reload", Role::Admin),
            ("get", "/api/v1/config", Role::Read),
            ("put", "/api/v1/config", Role::Admin),
            ("put", "/api/v1/configurations", Role::Write),
            ("post", "/stats/flow/{dpid}", Role::Read),
            ("post", "/stats/flowentry/add", Role::Write),
            ("get", "/wm/staticentrypusher/list/{dpid}/json", Role::Read),
            ("get", "/wm/staticentrypusher/clear/{dpid}/json", Role::Write),
            ("get", "/wm/staticflowentrypusher/clear/{dpid}/json", Role::Write),
        ] {
            assert_eq!(Role::needed(method, path), role, "{method} {path}");
        }
    }

    #[test]
    fn a_role_is_written_as_it_is_read() {
        for role in Role::ALL {
            assert_eq!(role.name().parse(), Ok(role));
        }
        assert!("root".parse::<Role>().unwrap_err().to_string().contains("read, write, admin"));
    }
}
