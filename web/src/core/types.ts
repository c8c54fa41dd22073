// What the API says, by the names of openapi/aldis.json.

export interface Page<T> {
  items: T[];
  total: number;
  next?: string | null;
}

export interface Counters {
  batches: number;
  bytes_in: number;
  bytes_out: number;
  bytes_waiting: number;
  moves: number;
  pauses: number;
  queue_wait_ns: number;
  queue_wait_ns_max: number;
  requests: number;
  sheds: number;
  skips: number;
  visits: number;
}

export interface Switch {
  dpid: string;
  name?: string | null;
  address: string;
  version: string;
  state: 'up' | 'not-reading';
  up_since: string;
  ports: number;
  ports_up: number;
  tables: number;
  buffers: number;
  auxiliaries: number;
  weight: number;
  worker: number;
  counters: Counters;
  kept: { bytes: number; bytes_max: number; refused: number };
}

export interface End {
  dpid: string;
  port: number;
}

export type LinkState = 'up' | 'one-way' | 'unproven' | 'gone';

export interface Link {
  a: End;
  b: End;
  state: LinkState;
  cable: boolean;
  slow: boolean;
  latency_us?: number | null;
  since: string;
}

export interface Host {
  mac: string;
  vlan: number;
  dpid: string;
  port: number;
  ips: string[];
  attached?: boolean;
  router?: boolean | null;
  first_seen: string;
  last_seen: string;
}

export interface Port {
  dpid: string;
  number: number;
  name: string;
  mac: string;
  up: boolean;
  admin_down: boolean;
  link_down: boolean;
  speed_kbps: number;
  max_speed_kbps: number;
  sheds?: number;
}

export interface PortCounters {
  port: string;
  age_s: number;
  rx_bytes?: number | null;
  tx_bytes?: number | null;
  rx_packets?: number | null;
  tx_packets?: number | null;
  rx_errors?: number | null;
  tx_errors?: number | null;
  rx_dropped?: number | null;
  tx_dropped?: number | null;
}

export interface Flow {
  table: number;
  priority: number;
  match: Record<string, string>;
  actions: string[];
  then?: string[];
  cookie: string;
  owner?: string | null;
  packets?: number | null;
  bytes?: number | null;
  age_s: number;
  idle_timeout_s: number;
  hard_timeout_s: number;
  flags?: string[];
}

export interface LiveEvent {
  id: string;
  at: string;
  kind: string;
  text: string;
  dpid?: string | null;
  address?: string | null;
  host?: { mac: string; vlan: number; at: End; from?: End | null } | null;
  link?: { a: End; b: End; state: LinkState } | null;
  port?: Port | null;
  missed?: number | null;
}

export interface Health {
  state: string;
  switches: number;
  /** Absent where no application looks for them. */
  links?: number;
  hosts?: number;
  up_for_s: number;
  up_since: string;
}

export interface Counted {
  bytes_out: number;
  events: Record<string, number>;
  failed?: boolean;
  now?: Record<string, number>;
  own?: Record<string, number>;
}

export type AppState = 'running' | 'stopped' | 'waiting' | 'failed' | 'restarting' | 'quarantined';

/** A version that runs in the shadow of the one that is there. */
export interface Candidate {
  version: string;
  state: AppState;
  agreed: number;
  differed: number;
  agreed_last: number;
  last_difference?: string | null;
}

export interface App {
  name: string;
  says: string;
  state: AppState;
  /** Why it does not run. */
  reason?: string | null;
  /** Of its package, where it was installed from one. */
  version?: string | null;
  /** Where its page is, from the root of the server on. */
  page?: string | null;
  candidate?: Candidate | null;
  exclusive: boolean;
  starts_on: string[];
  reads: string[];
  publishes: string[];
  counted?: Counted | null;
}

export interface Apps {
  apps: App[];
  sequences: { on: string; apps: string[]; branches?: string[][] }[];
  world: { name: string; publisher: string; made_of: string[] }[];
}

export interface Design {
  design: string;
  weighs: boolean;
  workers: number;
  knobs: Record<string, string>;
}

export interface WeightRules {
  rules: { switches: string; weight: number }[];
  source?: 'configuration' | 'http' | null;
}

export interface AtSwitch {
  switch: string;
  there: boolean;
  words: string;
}

export interface AclRule {
  name: string;
  action: 'allow' | 'deny' | 'mirror';
  match: Record<string, string>;
  mirror_to?: string | null;
  source: 'configuration' | 'http';
  switches: string[];
  at?: AtSwitch[];
}

export interface StaticFlow {
  name: string;
  switch: string;
  priority: number;
  table?: number | null;
  match: Record<string, string>;
  actions: string[];
  then?: string[];
  source: 'configuration' | 'http';
  there: number;
  missing: number;
  at?: AtSwitch[];
}

export interface Leaving {
  port: string;
  maybe: boolean;
  more_hosts?: number;
  to:
    | { hop: number }
    | { loop: number }
    | { hosts: string[] }
    | { 'not-followed': string }
    | 'nobody'
    | 'controller'
    | 'local';
}

export interface Hop {
  switch: string;
  port: string;
  does: string[];
  out: Leaving[];
  packet: Record<string, string>;
  tables: { table: number; flow?: Flow | null }[];
}

export interface Trace {
  hops: Hop[];
  cut: boolean;
  cuts?: string[];
}
