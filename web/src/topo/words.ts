// Flows in words.

import type { Flow } from '../core/types';

const FIELDS: Record<string, string> = {
  in_port: 'from port',
  eth_src: 'from',
  eth_dst: 'to',
  eth_type: 'type',
  vlan_vid: 'VLAN',
  ipv4_src: 'from',
  ipv4_dst: 'to',
  ipv6_src: 'from',
  ipv6_dst: 'to',
  ip_proto: 'protocol',
  tcp_src: 'TCP from',
  tcp_dst: 'TCP to',
  udp_src: 'UDP from',
  udp_dst: 'UDP to',
};

const TYPES: Record<string, string> = { '0x0800': 'IPv4', '0x86dd': 'IPv6', '0x0806': 'ARP', '0x88cc': 'LLDP' };
const PROTOCOLS: Record<string, string> = { '1': 'ICMP', '6': 'TCP', '17': 'UDP', '58': 'ICMPv6' };

/** Where a packet comes from is said first, then from whom, then to whom. */
const rank = (field: string): number =>
  field === 'in_port' ? 0 : field.endsWith('_type') ? 1 : field.endsWith('_src') ? 2 : field.endsWith('_dst') ? 3 : 4;

export function matchWords(match: Record<string, string>): string {
  const fields = Object.entries(match).sort(([a], [b]) => rank(a) - rank(b));
  const parts = fields.map(([field, value]) => {
    if (field === 'vlan_vid') return value === 'none' ? 'untagged' : value === 'any' ? 'any VLAN' : `VLAN ${value}`;
    if (field === 'eth_type') return TYPES[value] ?? `type ${value}`;
    if (field === 'ip_proto') return PROTOCOLS[value] ?? `protocol ${value}`;
    return `${FIELDS[field] ?? field} ${value}`;
  });
  return parts.length === 0 ? 'every packet' : parts.join(', ');
}

export function actionWords(flow: Pick<Flow, 'actions' | 'then'>): string {
  const said = [...flow.actions.map(actionWord), ...(flow.then ?? []).map(thenWord)];
  return said.length === 0 ? 'drop' : said.join(', ');
}

function actionWord(action: string): string {
  if (action === 'output:controller') return 'ask the controller';
  if (action.startsWith('output:')) return `out of port ${action.slice(7)}`;
  return action;
}

function thenWord(then: string): string {
  if (then.startsWith('goto-table:')) return `go on in table ${then.slice(11)}`;
  return then;
}
