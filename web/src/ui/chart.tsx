// Lines over time, and distributions.

import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { useCell } from '../core/cell';
import { isDark } from './theme';

export interface Line {
  label: string;
  color: string;
  /** Fills the ground below it. */
  filled?: boolean;
  dashed?: boolean;
}

export interface ChartProps {
  /** Seconds since 1970. */
  x: readonly number[];
  lines: readonly Line[];
  values: readonly (readonly (number | null)[])[];
  format: (value: number) => string;
  height?: number;
  /** What it shows, for readers of screens. */
  title: string;
}

/** Seconds between two times of an axis: the clock shows no part of a second. */
const TICKS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21_600, 86_400];

/** The least height of an axis of values. */
const LEAST = 1e-9;

export function Chart(props: ChartProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const dark = useCell(isDark);
  const latest = useRef(props);
  latest.current = props;
  const names = props.lines.map((line) => line.label + line.color).join();
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const made = new uPlot(options(latest.current, element.clientWidth, dark), data(latest.current), element);
    plot.current = made;
    const watch = new ResizeObserver(() => {
      made.setSize({ width: element.clientWidth, height: latest.current.height ?? 200 });
    });
    watch.observe(element);
    return () => {
      watch.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [dark, names]);
  useEffect(() => plot.current?.setData(data(props)), [props.values]);
  return <div class="chart" ref={box} role="img" aria-label={props.title} />;
}

const data = (props: ChartProps): uPlot.AlignedData =>
  [props.x, ...props.values] as unknown as uPlot.AlignedData;

function options(props: ChartProps, width: number, dark: boolean): uPlot.Options {
  const dim = dark ? '#8b98ad' : '#586377';
  const grid = dark ? 'rgba(139, 152, 173, 0.12)' : 'rgba(88, 99, 119, 0.14)';
  const clock = (at: number) => new Date(at * 1000).toLocaleTimeString([], { hour12: false });
  const axis = { stroke: dim, grid: { stroke: grid, width: 1 }, ticks: { show: false }, font: '11px system-ui' };
  return {
    width,
    height: props.height ?? 200,
    // Room for half of the last time of the axis.
    padding: [10, 26, 0, 0],
    cursor: { y: false, points: { size: 7 } },
    legend: { live: true },
    scales: { x: { time: true }, y: { range: (_, __, most) => [0, Math.max(most * 1.12, LEAST)] } },
    axes: [
      { ...axis, space: 90, incrs: TICKS_S, values: (_, ticks) => ticks.map(clock) },
      // Where every value is zero, zero is the one tick that says something.
      { ...axis, size: 74, values: (_, ticks) => ticks.map((tick) => (tick > 0 && tick <= LEAST ? '' : props.format(tick))) },
    ],
    series: [
      { label: 'Time', value: (_, at) => (at === null ? '' : clock(at)) },
      ...props.lines.map((line) => ({
        label: line.label,
        stroke: line.color,
        width: 1.7,
        ...(line.dashed ? { dash: [5, 4] } : {}),
        ...(line.filled ? { fill: `${line.color}22` } : {}),
        points: { show: false },
        value: (_: uPlot, value: number | null) => (value === null ? '–' : props.format(value)),
      })),
    ],
  };
}

export interface Buckets {
  upper: number;
  count: number;
}

/** A distribution: how often values up to each bound came. Powers of two are joined. */
export function Histogram(props: {
  buckets: readonly Buckets[];
  format: (value: number) => string;
  title: string;
  marks?: readonly (readonly [string, number])[];
}): JSX.Element {
  const bins = octaves(props.buckets);
  const most = Math.max(1, ...bins.map((bin) => bin.count));
  const all = bins.reduce((sum, bin) => sum + bin.count, 0);
  return (
    <figure class="histogram">
      <figcaption>
        <strong>{props.title}</strong>
        {(props.marks ?? []).map(([name, value]) => (
          <span key={name}>
            {name} <b>{props.format(value)}</b>
          </span>
        ))}
      </figcaption>
      <div class="bins" role="img" aria-label={`${props.title}: ${all} values`}>
        {bins.map((bin) => (
          <div key={bin.upper} class="bin" title={`up to ${props.format(bin.upper)}: ${bin.count}`}>
            <div style={{ height: `${(bin.count / most) * 100}%` }} />
          </div>
        ))}
      </div>
      <div class="scale">
        <span>{bins.length === 0 ? '' : props.format(bins[0]!.upper)}</span>
        <span>{bins.length === 0 ? 'nothing yet' : props.format(bins.at(-1)!.upper)}</span>
      </div>
    </figure>
  );
}

export function octaves(buckets: readonly Buckets[]): Buckets[] {
  const bins = new Map<number, number>();
  for (const { upper, count } of buckets) {
    const power = upper <= 0 ? 0 : Math.ceil(Math.log2(upper + 1));
    bins.set(power, (bins.get(power) ?? 0) + count);
  }
  if (bins.size === 0) return [];
  const powers = [...bins.keys()];
  const [least, most] = [Math.min(...powers), Math.max(...powers)];
  return Array.from({ length: most - least + 1 }, (_, one) => {
    const power = least + one;
    return { upper: power === 0 ? 0 : 2 ** power - 1, count: bins.get(power) ?? 0 };
  });
}
