// How a flow is typed: fields and actions as people write them, with the controller's own check.

import type { JSX } from 'preact';
import { Field } from './kit';

export interface Typed {
  match: string;
  actions: string;
  then: string;
  priority: string;
  table: string;
}

export const BLANK: Typed = { match: '', actions: '', then: '', priority: '', table: '' };

/** `in_port=1, ipv4_dst=10.0.0.0/8` as fields. Only `=` is looked for: the controller judges the rest. */
export function parseMatch(text: string): Record<string, string> {
  const fields: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const part of text.split(/[,\n]+/)) {
    const at = part.indexOf('=');
    const name = (at === -1 ? part : part.slice(0, at)).trim();
    if (name === '') continue;
    if (at === -1) throw new Error(`“${name}” has no value: write FIELD=VALUE, as in in_port=1`);
    fields[name] = part.slice(at + 1).trim();
  }
  return { ...fields };
}

export const writeMatch = (match: Record<string, string>): string =>
  Object.entries(match)
    .map(([field, value]) => `${field}=${value}`)
    .join(', ');

/** Words between commas. */
export const parseList = (text: string): string[] =>
  text
    .split(/[,\n]+/)
    .map((word) => word.trim())
    .filter((word) => word !== '');

/** The part of a change that was typed. */
export function written(typed: Typed): Record<string, unknown> {
  const number = (text: string) => (text.trim() === '' ? {} : Number(text));
  const body: Record<string, unknown> = { match: parseMatch(typed.match), actions: parseList(typed.actions) };
  if (typed.then.trim() !== '') body['then'] = parseList(typed.then);
  if (typed.priority.trim() !== '') body['priority'] = number(typed.priority);
  if (typed.table.trim() !== '') body['table'] = number(typed.table);
  return body;
}

export function FlowFields({ typed, onChange, tableHint }: { typed: Typed; onChange: (typed: Typed) => void; tableHint: string }): JSX.Element {
  const take = (part: keyof Typed) => (event: { currentTarget: { value: string } }) =>
    onChange({ ...typed, [part]: event.currentTarget.value });
  return (
    <>
      <Field label="Which packets" hint="Fields between commas, as in: in_port=1, ipv4_dst=10.0.0.0/8, tcp_dst=80. Empty for every packet.">
        <textarea rows={2} spellcheck={false} value={typed.match} onInput={take('match')} />
      </Field>
      <Field label="What is done" hint="Actions between commas, as in: set-field:eth_dst=02:00:00:00:00:01, output:2. Empty to drop.">
        <textarea rows={2} spellcheck={false} value={typed.actions} onInput={take('actions')} />
      </Field>
      <div class="row wrap">
        <Field label="Priority" hint="32768 where it is empty">
          <input inputMode="numeric" pattern="[0-9]*" value={typed.priority} onInput={take('priority')} />
        </Field>
        <Field label="Table" hint={tableHint}>
          <input inputMode="numeric" pattern="[0-9]*" value={typed.table} onInput={take('table')} />
        </Field>
        <Field label="And then" hint="goto-table:2, meter:1, write:ACTION, clear">
          <input spellcheck={false} value={typed.then} onInput={take('then')} />
        </Field>
      </div>
    </>
  );
}
