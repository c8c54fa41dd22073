// A knob of the design that counts at once: shown, and set.

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ask, sentence } from '../core/api';
import { useLacks } from '../core/me';
import { byPath } from '../core/poll';
import type { Design } from '../core/types';
import { Button, Chip, Choice, say } from '../ui/kit';

/** What counts without a restart. */
const LIVE = ['ibt', 'bdu-us', 'prt', 'shed'];

export function Knob({ name, value }: { name: string; value: string }): JSX.Element {
  const [own, setOwn] = useState<string | null>(null);
  const lacks = useLacks('write');
  if (!LIVE.includes(name)) return <Chip tone="info">{value}</Chip>;
  const set = async (next: string) => {
    try {
      await ask<Design>('api/v1/design', { method: 'PUT', body: { knobs: { [name]: next } } });
      await byPath<Design>('api/v1/design', 10_000).now();
      say('ok', `${name} is ${next} from now on.`);
      setOwn(null);
    } catch (problem) {
      say('bad', sentence(problem));
    }
  };
  if (value === 'true' || value === 'false') {
    const turn = (next: string) => (lacks === null ? void set(next) : say('warn', lacks));
    return <Choice label={name} value={value} of={[['true', 'on'], ['false', 'off']]} onChange={turn} />;
  }
  const save = (event: Event) => {
    event.preventDefault();
    if (own === null || own.trim() === value) return setOwn(null);
    void set(own.trim());
  };
  return (
    <form class="knob" onSubmit={save}>
      <input
        type="text"
        inputMode="numeric"
        size={6}
        value={own ?? value}
        aria-label={name}
        disabled={lacks !== null}
        title={lacks ?? undefined}
        onInput={(event) => setOwn(event.currentTarget.value)}
      />
      {own === null || own.trim() === value ? null : (
        <Button type="submit" onClick={() => undefined} label={`Set ${name}`}>
          Set
        </Button>
      )}
    </form>
  );
}
