// What became of a kept flow or rule at each switch, in the switch's own words.

import type { JSX } from 'preact';
import { nameOf } from '../core/network';
import { byPath, useResource } from '../core/poll';
import { href } from '../core/router';
import type { AtSwitch } from '../core/types';
import { Chip } from '../ui/kit';

const SHOWN_MAX = 200;

export function AtSwitches({ path }: { path: string }): JSX.Element {
  const { data, error } = useResource(byPath<{ at?: AtSwitch[] }>(path, 3000));
  const at = data?.at ?? [];
  if (error !== null) return <p class="trouble">{error.message}</p>;
  // Those that have no such thing come first: they are what one looks for.
  const rows = [...at].sort((a, b) => Number(a.there) - Number(b.there));
  return (
    <section class="at-switches">
      <h3>At {at.length} connected switches</h3>
      <ul class="log">
        {rows.slice(0, SHOWN_MAX).map((one) => (
          <li key={one.switch}>
            <a href={href('switches', one.switch, 'flows')}>{nameOf(one.switch)}</a>
            <Chip tone={one.there ? 'ok' : 'bad'}>{one.there ? 'there' : 'not there'}</Chip>
            <span>{one.words}</span>
          </li>
        ))}
      </ul>
      {rows.length > SHOWN_MAX ? <p class="hint">{rows.length - SHOWN_MAX} more are not shown.</p> : null}
    </section>
  );
}
