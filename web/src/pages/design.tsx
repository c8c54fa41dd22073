// The design as the papers draw it: switches, the workers that read them, what is batched, and who
// writes.

import type { JSX } from 'preact';
import type { Design } from '../core/types';
import { count } from '../core/units';
import type { Statistics } from './statistics';
import { curves } from './statistics';
import { Knob } from './knob';
import { useCell } from '../core/cell';

const SAYS: Record<string, string> = {
  'fair-rounds': 'Each worker serves the switches of its home in rounds, each by its weight, and helps others when it has none.',
  'maestro-round-robin': 'Each worker goes round all switches, and batches what one visit read.',
  'beacon-static': 'Each switch belongs to one worker for good.',
  'shared-queue': 'Some threads read, and workers take batches from one queue.',
};

const SHOWN_MAX = 4;

export function DesignPicture({ design, now }: { design: Design; now: Statistics }): JSX.Element {
  const last = useCell(curves).at(-1);
  const workers = now.workers.slice(0, SHOWN_MAX);
  const height = 64 * workers.length + 20;
  const homes = now.workers.map((one) => now.switches.filter((other) => other.worker === one.worker).length);
  return (
    <div class="design">
      <svg viewBox={`0 0 560 ${height}`} role="img" aria-label={`${design.design} with ${design.workers} workers`}>
        {workers.map((one, at) => {
          const y = 14 + at * 64;
          return (
            <g key={one.worker}>
              <rect class="box" x="4" y={y} width="118" height="44" rx="8" />
              <text x="63" y={y + 19}>{count(homes[at])} switches</text>
              <text class="dim" x="63" y={y + 35}>home of {one.worker}</text>
              <path class="flow" d={`M122 ${y + 22}H166`} />
              <rect class="box worker" x="168" y={y} width="118" height="44" rx="8" />
              <text x="227" y={y + 19}>worker {one.worker}</text>
              <text class="dim" x="227" y={y + 35}>{count(last?.ofWorker[at] ?? 0)} requests/s</text>
              <path class="flow" d={`M286 ${y + 22}H330`} />
              <rect class="box" x="332" y={y} width="104" height="44" rx="8" />
              <text x="384" y={y + 19}>batch</text>
              <text class="dim" x="384" y={y + 35}>IBT {count(one.ibt_now)}</text>
              <path class="flow" d={`M436 ${y + 22}H470`} />
              <rect class="box" x="472" y={y} width="84" height="44" rx="8" />
              <text x="514" y={y + 19}>write</text>
              <text class="dim" x="514" y={y + 35}>{design.knobs['write'] ?? ''}</text>
            </g>
          );
        })}
      </svg>
      <p class="hint">
        {SAYS[design.design] ?? ''} {now.workers.length > SHOWN_MAX ? `${now.workers.length - SHOWN_MAX} more workers do the same.` : ''}
      </p>
      <dl class="knobs">
        {Object.entries(design.knobs).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <Knob name={name} value={value} />
            </dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
