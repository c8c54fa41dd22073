// Rules about which packets pass, in their order.

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ask, sentence } from '../core/api';
import { byPath, useResource } from '../core/poll';
import type { AclRule } from '../core/types';
import { matchWords } from '../topo/words';
import { parseList, parseMatch, writeMatch } from '../ui/flow-form';
import { Button, Chip, Choice, Copyable, Dialog, Empty, Field, Panel, Pending, say, type Tone } from '../ui/kit';
import { AtSwitches } from './at-switches';

const LIST = 'api/v1/acl';
const pathOf = (name: string) => `${LIST}/${encodeURIComponent(name)}`;
const TONES: Record<AclRule['action'], Tone> = { allow: 'ok', deny: 'bad', mirror: 'info' };

export function Acl(): JSX.Element {
  const list = byPath<{ rules: AclRule[] }>(LIST, 4000);
  const { data, error } = useResource(list);
  const [open, setOpen] = useState<AclRule | 'new' | null>(null);
  if (error?.status === 409 || error?.status === 404) return <NotRunning why={error.message} />;
  if (data === null) return <Pending error={error} />;
  return (
    <Panel
      title="The first rule that fits a packet counts"
      aside={
        <Button icon="plus" kind="main" needs="write" onClick={() => setOpen('new')}>
          Add a rule
        </Button>
      }
      flush
    >
      {data.rules.length === 0 ? (
        <Empty title="No rule yet">
          Every packet passes. A rule that is added here counts at once: where the application acl runs (<code>--apps acl,…</code>).
        </Empty>
      ) : (
        <ol class="rules">
          {data.rules.map((rule, at) => (
            <li key={rule.name}>
              <i>{at + 1}</i>
              <Chip tone={TONES[rule.action]}>{rule.action}</Chip>
              <div>
                <button type="button" class="link" onClick={() => setOpen(rule)}>
                  {rule.name}
                </button>
                <span>
                  {matchWords(rule.match)}
                  {rule.mirror_to ? `, copied to port ${rule.mirror_to}` : ''}
                </span>
              </div>
              <span class="dim">{rule.switches.length === 0 ? 'all switches' : rule.switches.join(', ')}</span>
              <Chip>{rule.source === 'http' ? 'people' : 'the configuration'}</Chip>
            </li>
          ))}
        </ol>
      )}
      {open === null ? null : (
        <Editor rule={open === 'new' ? null : open} others={data.rules} onClose={() => setOpen(null)} onDone={() => void list.now()} />
      )}
    </Panel>
  );
}

function NotRunning({ why }: { why: string }): JSX.Element {
  return (
    <Empty title="The application acl does not run">
      <p>{why}</p>
      <Copyable text="aldis run --apps acl,static-flows,topology,hosts,arp-proxy,nd-proxy,dhcp,routing,route-flow,spanning" />
    </Empty>
  );
}

interface EditorProps {
  rule: AclRule | null;
  others: readonly AclRule[];
  onClose: () => void;
  onDone: () => void;
}

function Editor({ rule, others, onClose, onDone }: EditorProps): JSX.Element {
  const [name, setName] = useState(rule?.name ?? '');
  const [action, setAction] = useState<AclRule['action']>(rule?.action ?? 'deny');
  const [match, setMatch] = useState(rule === null ? '' : writeMatch(rule.match));
  const [at, setAt] = useState(rule?.switches.join(', ') ?? '');
  const [mirror, setMirror] = useState(rule?.mirror_to ?? '');
  const [before, setBefore] = useState('');
  const [error, setError] = useState<string | null>(null);
  const isFixed = rule?.source === 'configuration';
  const attempt = async (what: () => Promise<unknown>, done: string) => {
    setError(null);
    try {
      await what();
      say('ok', done);
      onDone();
      onClose();
    } catch (problem) {
      setError(sentence(problem));
    }
  };
  const save = () =>
    attempt(async () => {
      const body = {
        action,
        match: parseMatch(match),
        switches: parseList(at),
        ...(action === 'mirror' ? { mirror_to: mirror } : {}),
      };
      const to = before === '' ? pathOf(name) : `${pathOf(name)}?${new URLSearchParams({ before })}`;
      await ask(to, { method: 'PUT', body });
    }, `“${name}” counts. Its switches have it within a second or two.`);
  return (
    <Dialog title={rule === null ? 'Add a rule' : rule.name} onClose={onClose} wide>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <div class="row wrap">
          <Field label="Name">
            <input required disabled={rule !== null} value={name} onInput={(event) => setName(event.currentTarget.value)} />
          </Field>
          <Choice label="What becomes of its packets" value={action} of={[['allow', 'Allow'], ['deny', 'Deny'], ['mirror', 'Mirror']]} onChange={setAction} />
        </div>
        <Field label="Which packets" hint="As in: eth_type=0x0800, ip_proto=6, tcp_dst=23. Empty for every packet.">
          <textarea rows={2} spellcheck={false} value={match} onInput={(event) => setMatch(event.currentTarget.value)} />
        </Field>
        <div class="row wrap">
          <Field label="Switches" hint="datapath ids, first octets, ranges, between commas; empty for all">
            <input value={at} onInput={(event) => setAt(event.currentTarget.value)} />
          </Field>
          {action === 'mirror' ? (
            <Field label="Copies to port">
              <input required value={mirror} onInput={(event) => setMirror(event.currentTarget.value)} />
            </Field>
          ) : null}
          {rule === null && others.length > 0 ? (
            <Field label="Before">
              <select value={before} onChange={(event) => setBefore(event.currentTarget.value)}>
                <option value="">at the end</option>
                {others.map((other) => (
                  <option key={other.name} value={other.name}>
                    {other.name}
                  </option>
                ))}
              </select>
            </Field>
          ) : null}
        </div>
        {error === null ? null : (
          <p class="trouble" role="alert">
            {error}
          </p>
        )}
        {isFixed ? <p class="hint">The configuration says this rule, and it is changed there alone.</p> : null}
        <div class="row">
          <Button type="submit" kind="main" needs="write" disabled={isFixed}>
            {rule === null ? 'Add' : 'Change'}
          </Button>
          {rule === null || isFixed ? null : (
            <Button kind="danger" needs="write" onClick={() => void attempt(() => ask(pathOf(rule.name), { method: 'DELETE' }), `“${rule.name}” counts no more.`)}>
              Remove
            </Button>
          )}
        </div>
        {rule === null ? null : <AtSwitches path={pathOf(rule.name)} />}
      </form>
    </Dialog>
  );
}
