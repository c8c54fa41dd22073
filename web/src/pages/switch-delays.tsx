// Where the time of a switch's requests goes: its distributions among all counters.

import type { JSX } from 'preact';
import { statistics } from './statistics';
import { useResource } from '../core/poll';
import { nanoseconds } from '../core/units';
import { Histogram } from '../ui/chart';
import { Panel, Pending } from '../ui/kit';

export function Delays({ dpid }: { dpid: string }): JSX.Element {
  const { data, error } = useResource(statistics);
  const mine = data?.switches.find((one) => one.dpid === dpid);
  if (mine === undefined) return <Panel title="Delays">{data === null ? <Pending error={error} /> : <p>Nothing yet.</p>}</Panel>;
  const shown = [
    ['From ready to visit', mine.queue_waits_ns],
    ['A batch, first read to last write', mine.batching_delay_ns],
    ['The applications', mine.handling_time_ns],
    ['Writing', mine.write_time_ns],
  ] as const;
  return (
    <Panel title="Delays" aside="since it connected">
      <div class="histograms">
        {shown.map(([title, spread]) => (
          <Histogram
            key={title}
            title={title}
            buckets={spread.buckets}
            format={nanoseconds}
            marks={[['median', spread.p50], ['p99', spread.p99]]}
          />
        ))}
      </div>
    </Panel>
  );
}
