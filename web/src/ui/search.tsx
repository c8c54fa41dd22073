// Search over everything that has a name or an address.

import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { useCell } from '../core/cell';
import { hosts, switches } from '../core/network';
import { useResource } from '../core/poll';
import { go, href } from '../core/router';
import { dpidWords, short } from '../core/units';
import { hostKey, hostName } from '../topo/model';
import { Dialog } from './kit';
import { PAGES } from './shell';

interface Found {
  key: string;
  kind: string;
  title: string;
  note: string;
  to: string;
}

const SHOWN_MAX = 12;

export function Search({ onClose }: { onClose: () => void }): JSX.Element {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const ofSwitches = useCell(switches).data;
  const ofHosts = useResource(hosts).data;
  const found = useMemo(() => find(text), [text, ofSwitches, ofHosts]);
  const take = (one: Found | undefined) => {
    if (one === undefined) return;
    onClose();
    go(one.to);
  };
  const onKey = (event: KeyboardEvent) => {
    const move = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (move !== 0) setAt((at + move + found.length) % Math.max(1, found.length));
    else if (event.key === 'Enter') take(found[at]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Search" onClose={onClose}>
      <input
        class="search-input"
        role="combobox"
        aria-expanded="true"
        aria-controls="found"
        aria-activedescendant={found.length > 0 ? `found-${at}` : undefined}
        aria-label="Name, datapath id, Ethernet or IP address"
        placeholder="Name, datapath id, Ethernet or IP address"
        autoFocus
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={onKey}
      />
      <ul id="found" class="found-list" role="listbox" aria-label="Found">
        {found.map((one, place) => (
          <li key={one.key} id={`found-${place}`} role="option" aria-selected={place === at} onClick={() => take(one)}>
            <small>{one.kind}</small>
            <b>{one.title}</b>
            <span>{one.note}</span>
          </li>
        ))}
      </ul>
      {found.length === 0 ? <p class="hint">Nothing fits. Try a part of a name, of a datapath id or of an address.</p> : null}
    </Dialog>
  );
}

function find(text: string): Found[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (...parts: string[]) => {
    const all = parts.join(' ').toLowerCase();
    return words.every((word) => all.includes(word));
  };
  const found: Found[] = [];
  const isFull = () => found.length >= SHOWN_MAX;
  for (const [key, title] of PAGES) if (fits(title, key)) found.push({ key, kind: 'page', title, note: '', to: href(key) });
  if (words.length === 0) return found.slice(0, SHOWN_MAX);
  for (const one of switches.value.data?.items ?? []) {
    const title = one.name || short(one.dpid);
    if (!isFull() && fits(title, short(one.dpid), one.dpid, dpidWords(one.dpid), one.address)) {
      found.push({ key: one.dpid, kind: 'switch', title, note: dpidWords(one.dpid), to: href('switches', one.dpid) });
    }
  }
  for (const host of hosts.value.data?.items ?? []) {
    if (!isFull() && fits(host.mac, ...host.ips)) {
      const to = href('topology', '', '', { at: hostKey(host) });
      found.push({ key: hostKey(host), kind: 'host', title: hostName(host), note: host.mac, to });
    }
  }
  return found;
}
