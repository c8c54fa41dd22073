// What is known of the thing that is chosen in the picture.

import type { JSX } from 'preact';
import { useCell } from '../core/cell';
import { cuts, nameOf, rates } from '../core/network';
import { href, setQuery } from '../core/router';
import { ago, bits, count, dpidWords, nanoseconds } from '../core/units';
import { Button, Chip, Figure, Figures } from '../ui/kit';
import { carried } from './looks';
import type { Edge, Leaf, Model, Node } from './model';
import type { Traffic } from './traffic';

interface AsideProps {
  chosen: string | null;
  model: Model;
  flowing: Traffic | null;
}

export function Aside({ chosen, model, flowing }: AsideProps): JSX.Element | null {
  const node = chosen === null ? undefined : model.nodes.get(chosen);
  const leaf = chosen === null ? undefined : model.leaves.get(chosen);
  if (node === undefined && leaf === undefined) return <Cuts model={model} />;
  return (
    <aside class="hud hud-aside" aria-label="What is chosen">
      <header>
        <h2>{node?.label ?? leaf?.host.ips[0] ?? leaf?.host.mac}</h2>
        <Button icon="close" kind="ghost" label="Let go (Esc)" onClick={() => setQuery({ at: '' })} />
      </header>
      {node === undefined ? null : <OfNode node={node} model={model} flowing={flowing} />}
      {leaf === undefined ? null : <OfHost leaf={leaf} />}
    </aside>
  );
}

function OfNode({ node, model, flowing }: { node: Node; model: Model; flowing: Traffic | null }): JSX.Element {
  const now = useCell(rates).get(node.dpid);
  const around = [...model.edges.values()].filter((edge) => edge.a === node.dpid || edge.b === node.dpid);
  const homes = [...model.leaves.values()].filter((leaf) => leaf.dpid === node.dpid);
  return (
    <>
      <p class="mono">{dpidWords(node.dpid)}</p>
      <p>
        {node.up ? <Chip tone="ok">connected</Chip> : <Chip tone="bad">not connected</Chip>}{' '}
        {node.of?.state === 'not-reading' ? <Chip tone="bad">does not read</Chip> : null}{' '}
        {node.of === undefined ? null : <Chip>OpenFlow {node.of.version}</Chip>}
      </p>
      <Figures>
        <Figure name="Requests" value={`${count(now?.requests ?? 0)}/s`} />
        <Figure name="Wait" value={nanoseconds(now?.waitNs ?? 0)} />
        <Figure name="Weight" value={node.of?.weight ?? '–'} />
        <Figure name="Hosts" value={homes.length} />
      </Figures>
      {node.up ? (
        <p class="row">
          <a class="button main" href={href('switches', node.dpid)}>
            Ports and flows
          </a>
          <a class="button plain" href={href('switches', node.dpid, 'flows')}>
            Flows
          </a>
        </p>
      ) : null}
      <h3>{around.length} links</h3>
      <ul class="links">
        {around.slice(0, 40).map((edge) => (
          <LinkLine key={edge.key} edge={edge} from={node.dpid} flowing={flowing} />
        ))}
      </ul>
    </>
  );
}

function LinkLine({ edge, from, flowing }: { edge: Edge; from: string; flowing: Traffic | null }): JSX.Element {
  const other = edge.a === from ? edge.b : edge.a;
  const ports = edge.key.split('-').map((end) => end.split(':')[1]);
  const port = edge.a === from ? ports[0] : ports[1];
  const carries = carried(edge, flowing);
  return (
    <li class={edge.state}>
      <button type="button" onClick={() => setQuery({ at: other })}>
        <span>port {port}</span>
        <b>{nameOf(other)}</b>
        <span class="right">{edge.state === 'up' ? (carries > 0 ? bits(carries) : (edge.link?.latency_us ?? null) !== null ? `${edge.link!.latency_us} µs` : '') : edge.state === 'cut' ? 'down' : edge.state}</span>
      </button>
    </li>
  );
}

function OfHost({ leaf }: { leaf: Leaf }): JSX.Element {
  const { host } = leaf;
  return (
    <>
      <p class="mono">{host.mac}</p>
      <Figures>
        <Figure name="Switch" value={<a href={href('switches', host.dpid)}>{nameOf(host.dpid)}</a>} />
        <Figure name="Port" value={host.port} />
        <Figure name="VLAN" value={host.vlan === 0 ? 'none' : host.vlan} />
        <Figure name="Seen" value={ago(host.last_seen)} />
      </Figures>
      <ul class="plain-list mono">
        {host.ips.slice(0, 30).map((ip) => (
          <li key={ip}>{ip}</li>
        ))}
      </ul>
    </>
  );
}

/** The links that went down, where nothing is chosen. */
function Cuts({ model }: { model: Model }): JSX.Element | null {
  const gone = useCell(cuts);
  const down = [...model.edges.values()].filter((edge) => edge.state === 'cut');
  if (down.length === 0) return null;
  return (
    <aside class="hud hud-aside" aria-label="Links that are down">
      <header>
        <h2>{down.length === 1 ? 'A link is down' : `${down.length} links are down`}</h2>
        <Button kind="ghost" label="Forget links that are down" onClick={() => cuts.set(new Map())}>
          Forget
        </Button>
      </header>
      <ul class="links">
        {down.slice(0, 60).map((edge) => (
          <li key={edge.key} class="cut">
            <button type="button" onClick={() => setQuery({ at: edge.a })}>
              <b>
                {nameOf(edge.a)} – {nameOf(edge.b)}
              </b>
              <span class="right">{gone.has(edge.key) ? ago(gone.get(edge.key)!.at) : ''}</span>
            </button>
          </li>
        ))}
      </ul>
    </aside>
  );
}
