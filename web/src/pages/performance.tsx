// How fast and how fair the controller is, as it happens.

import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { ask, sentence } from '../core/api';
import { useCell } from '../core/cell';
import { useLacks } from '../core/me';
import { switches } from '../core/network';
import { byPath, useResource } from '../core/poll';
import { href } from '../core/router';
import type { Design, WeightRules } from '../core/types';
import { count, nanoseconds, rate, short } from '../core/units';
import { palette } from '../topo/palette';
import { Chart, Histogram, type ChartProps, type Line } from '../ui/chart';
import { Bar, Button, Chip, Figure, Figures, Panel, Pending, say } from '../ui/kit';
import { Table, type Column } from '../ui/table';
import { isDark } from '../ui/theme';
import { DesignPicture } from './design';
import { Knob } from './knob';
import { curves, fairness, statistics, switchRates, type Point, type Statistics } from './statistics';
import { setWeight } from './weights';

export function Performance(): JSX.Element {
  const { data, error } = useResource(statistics);
  const design = useResource(byPath<Design>('api/v1/design', 10_000));
  if (data === null) return <Pending error={error} />;
  return (
    <div class="performance">
      <Headline now={data} />
      <div class="columns">
        <Throughput />
        <Waits />
        <Batches />
        <Panel title="Design" aside={design.data?.design}>
          {design.data === null ? <Pending error={design.error} /> : <DesignPicture design={design.data} now={data} />}
        </Panel>
      </div>
      <Fairness weighs={design.data?.weighs ?? true} shed={design.data?.knobs['shed']} />
      <Distributions now={data} />
    </div>
  );
}

function Headline({ now }: { now: Statistics }): JSX.Element {
  const points = useCell(curves);
  const last = points.at(-1);
  const { total } = now;
  return (
    <Figures>
      <Figure name="Requests" value={rate(last?.requests ?? 0)} note={`${count(total.requests)} in all`} />
      <Figure name="Wait, median" value={nanoseconds(last?.waitP50)} note="from ready to visit" />
      <Figure name="Wait, p99" value={nanoseconds(last?.waitP99)} />
      <Figure name="Requests a batch" value={last?.size === null || last === undefined ? '–' : last.size.toFixed(1)} />
      <Figure name="IBT" value={count(total.ibt_now)} note="requests, all workers" />
      <Figure name="Locks" value={`${(now.lock_wait_ppm / 10_000).toFixed(3)} %`} note="of the time is waiting for them" />
      <Figure name="Shed" value={count(total.sheds)} tone={total.sheds > 0 ? 'bad' : undefined} />
    </Figures>
  );
}

function useColours() {
  return palette(useCell(isDark));
}

/** Values of the curves, each of a line: the same until there is a new point, for which alone a chart is drawn again. */
function useSeries(points: readonly Point[], lines: readonly Line[], of: (point: Point) => (number | null)[]): Pick<ChartProps, 'x' | 'values'> {
  return useMemo(() => {
    const rows = points.map(of);
    return { x: points.map((point) => point.at), values: lines.map((_, at) => rows.map((row) => row[at] ?? null)) };
  }, [points, lines.length]);
}

function Throughput(): JSX.Element {
  const points = useCell(curves);
  const colours = useColours();
  const workers = points.at(-1)?.ofWorker.length ?? 0;
  const lines = [
    { label: 'all', color: colours.accent, filled: true },
    { label: 'shed', color: colours.bad, dashed: true },
    ...Array.from({ length: Math.min(workers, 6) }, (_, at) => ({ label: `worker ${at}`, color: colours.kinds[at === 1 ? 2 : at]! })),
  ];
  const series = useSeries(points, lines, (point) => [point.requests, point.sheds, ...point.ofWorker]);
  return (
    <Panel title="Throughput" aside="flow requests served a second">
      <Chart title="Throughput over time" {...series} lines={lines} format={rate} />
    </Panel>
  );
}

function Waits(): JSX.Element {
  const points = useCell(curves);
  const colours = useColours();
  const lines = [
    { label: 'wait p50', color: colours.kinds[0]!, filled: true },
    { label: 'wait p99', color: colours.kinds[1]! },
    { label: 'batch p50', color: colours.kinds[2]!, dashed: true },
    { label: 'batch p99', color: colours.kinds[4]!, dashed: true },
  ];
  const series = useSeries(points, lines, (point) => [point.waitP50, point.waitP99, point.batchP50, point.batchP99]);
  return (
    <Panel title="Delay" aside="of each second alone">
      <Chart title="Delay over time" {...series} lines={lines} format={nanoseconds} />
    </Panel>
  );
}

function Batches(): JSX.Element {
  const points = useCell(curves);
  const colours = useColours();
  const lines = [
    { label: 'requests a batch', color: colours.kinds[3]!, filled: true },
    { label: 'batches/s', color: colours.kinds[5]! },
  ];
  const series = useSeries(points, lines, (point) => [point.size, point.batches]);
  return (
    <Panel title="Batches" aside="how large, and how many a second">
      <Chart title="Batches over time" {...series} lines={lines} format={(value) => count(value)} />
    </Panel>
  );
}

interface FairRow {
  dpid: string;
  name: string;
  weight: number;
  received: number;
  share: number;
  isFull: boolean;
  deviation: number | null;
}

function Fairness({ weighs, shed }: { weighs: boolean; shed: string | undefined }): JSX.Element {
  const { data } = useResource(switches);
  const now = useCell(switchRates);
  const rules = useResource(byPath<WeightRules>('api/v1/weights', 5000));
  const rows = useMemo(() => {
    const all = data?.items ?? [];
    const got = all.map((one) => now.get(one.dpid) ?? { requests: 0, full: NaN });
    const fair = fairness(got, all.map((one) => one.weight));
    return all.map((one, at): FairRow => ({
      dpid: one.dpid,
      name: one.name || short(one.dpid),
      weight: one.weight,
      received: got[at]!.requests,
      ...fair[at]!,
    }));
  }, [data, now]);
  const most = Math.max(1, ...rows.map((row) => Math.max(row.received, row.isFull ? row.share : 0)));
  const full = rows.filter((row) => row.isFull);
  const worst = Math.max(0, ...full.map((row) => Math.abs(row.deviation ?? 0)));
  const columns = useMemo(() => fairColumns(most), [most]);
  return (
    <Panel
      title="Fairness"
      aside={full.length === 0 ? (most > 1 ? 'no switch asks for more than it gets' : 'nothing is asked now') : `${full.length} take their whole share; the farthest is ${(worst * 100).toFixed(1)} % off`}
    >
      <p class="hint">
        Each switch is due its weight’s part of what is served; what a switch does not ask for goes to the others (weighted max-min).
        {weighs ? ' Move a weight and watch the bars follow.' : ' This design does not weigh switches.'}
        {shed === undefined ? null : (
          <span class="shed">
            {' '}
            Requests of a port that floods are shed: <Knob name="shed" value={shed} />
          </span>
        )}
      </p>
      <Table
        name="fairness"
        rows={rows}
        columns={columns}
        rowKey={(row) => row.dpid}
        href={(row) => href('switches', row.dpid)}
        sort="name"
        tools={
          rules.data?.source === 'http' ? (
            <Button needs="write" onClick={() => void resetWeights()} label="The weights of the configuration count again">
              Reset weights
            </Button>
          ) : null
        }
      />
    </Panel>
  );
}

async function resetWeights(): Promise<void> {
  try {
    await ask('api/v1/weights', { method: 'DELETE' });
    await Promise.all([switches.now(), byPath('api/v1/weights', 5000).now()]);
    say('ok', 'The weights of the configuration count again.');
  } catch (problem) {
    say('bad', sentence(problem));
  }
}

function fairColumns(most: number): readonly Column<FairRow>[] {
  return [
    { key: 'name', title: 'Switch', wraps: true, value: (row) => row.name, width: '8rem' },
    { key: 'weight', title: 'Weight', value: (row) => row.weight, cell: (row) => <Weight row={row} />, width: '13rem' },
    {
      key: 'received',
      title: 'Receives',
      value: (row) => row.received,
      cell: (row) => <Bar part={row.received / most} mark={row.isFull ? row.share / most : undefined} tone={row.isFull ? 'info' : 'dim'} />,
    },
    { key: 'rate', title: 'Requests/s', value: (row) => row.received, cell: (row) => count(row.received), right: true, width: '7rem' },
    { key: 'share', title: 'Due', value: (row) => row.share, cell: (row) => (row.isFull ? count(row.share) : '–'), right: true, width: '6rem', wideOnly: true },
    {
      key: 'deviation',
      title: 'Deviation',
      value: (row) => row.deviation ?? 0,
      cell: (row) =>
        row.deviation === null ? (
          <Chip>asks for less</Chip>
        ) : (
          <Chip tone={Math.abs(row.deviation) < 0.05 ? 'ok' : Math.abs(row.deviation) < 0.2 ? 'warn' : 'bad'}>
            {`${row.deviation > 0 ? '+' : row.deviation < 0 ? '−' : ''}${Math.abs(row.deviation * 100).toFixed(1)} %`}
          </Chip>
        ),
      right: true,
      width: '8rem',
    },
  ];
}

function Weight({ row }: { row: FairRow }): JSX.Element {
  const [own, setOwn] = useState<number | null>(null);
  const lacks = useLacks('write');
  const save = async (value: number) => {
    try {
      await setWeight([row.dpid], value);
      await switches.now();
      byPath('api/v1/weights', 5000).soon(0);
    } catch (problem) {
      say('bad', sentence(problem));
    }
    setOwn(null);
  };
  return (
    <span class="weight">
      <input
        type="range"
        min="1"
        max="16"
        value={Math.min(16, own ?? row.weight)}
        aria-label={`Weight of ${row.name}`}
        disabled={lacks !== null}
        title={lacks ?? undefined}
        onInput={(event) => setOwn(event.currentTarget.valueAsNumber)}
        onChange={(event) => void save(event.currentTarget.valueAsNumber)}
      />
      <b>{own ?? row.weight}</b>
    </span>
  );
}

function Distributions({ now }: { now: Statistics }): JSX.Element {
  const { total } = now;
  const shown = [
    ['From ready to visit', total.queue_wait_ns, nanoseconds],
    ['A batch, first read to last write', total.batching_delay_ns, nanoseconds],
    ['The applications, a batch', total.handling_time_ns, nanoseconds],
    ['Writing, a batch', total.write_time_ns, nanoseconds],
    ['Requests a batch', total.batch_size, (value: number) => count(value)],
  ] as const;
  return (
    <Panel title="Distributions" aside="of all workers, since the start">
      <div class="histograms">
        {shown.map(([title, spread, format]) => (
          <Histogram
            key={title}
            title={title}
            buckets={spread.buckets}
            format={format}
            marks={[['median', spread.p50], ['p99', spread.p99], ...(spread.max === undefined ? [] : [['most', spread.max] as const])]}
          />
        ))}
      </div>
    </Panel>
  );
}
