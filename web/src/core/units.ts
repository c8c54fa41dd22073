// Numbers and moments, as people read them.

const STEPS = ['', 'k', 'M', 'G', 'T', 'P'];

/** `12345` as `12.3 k`. */
export function count(value: number | null | undefined, digits = 3): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  let rest = Math.abs(value);
  let step = 0;
  while (rest >= 999.5 && step < STEPS.length - 1) {
    rest /= 1000;
    step += 1;
  }
  const places = step === 0 && Number.isInteger(rest) ? 0 : Math.max(0, digits - 1 - Math.floor(Math.log10(rest || 1)));
  const text = rest.toFixed(Math.min(places, 2));
  return `${value < 0 ? '−' : ''}${text}${step === 0 ? '' : ` ${STEPS[step]}`}`;
}

/** A rate with its unit, as in `3.20 k/s`. */
export const rate = (value: number | null | undefined): string => {
  if (value === null || value === undefined) return '–';
  const text = count(value);
  return text.includes(' ') ? `${text}/s` : `${text} /s`;
};

/** Bytes in steps of 1024. */
export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined) return '–';
  let rest = value;
  let step = 0;
  while (rest >= 1024 && step < 5) {
    rest /= 1024;
    step += 1;
  }
  const unit = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'][step];
  return `${step === 0 ? Math.round(rest) : rest.toPrecision(3)} ${unit}`;
}

/** Bits a second, in steps of 1000. */
export const bits = (perSecond: number | null | undefined): string => {
  if (perSecond === null || perSecond === undefined) return '–';
  const text = count(perSecond);
  return text.includes(' ') ? `${text}bit/s` : `${text} bit/s`;
};

/** A stretch of time that is given in nanoseconds. */
export function nanoseconds(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  if (value < 1000) return `${Math.round(value)} ns`;
  if (value < 1e6) return `${(value / 1e3).toPrecision(3)} µs`;
  if (value < 1e9) return `${(value / 1e6).toPrecision(3)} ms`;
  return `${(value / 1e9).toPrecision(3)} s`;
}

export function seconds(value: number): string {
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  if (value < 120) return `${Math.floor(value)} s`;
  if (value < 7200) return `${Math.floor(value / 60)} min`;
  if (value < 172_800) return `${Math.floor(value / 3600)} h ${Math.floor((value % 3600) / 60)} min`;
  return `${Math.floor(value / 86_400)} days`;
}

/** How long ago a moment is. */
export const ago = (date: string): string => {
  const past = (Date.now() - Date.parse(date)) / 1000;
  return Number.isNaN(past) ? '–' : past < 1 ? 'now' : `${seconds(past)} ago`;
};

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false });
const DATE = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' });

/** The time of day of a moment, in the viewer's zone. */
export const clock = (date: string): string => (Number.isNaN(Date.parse(date)) ? '–' : CLOCK.format(new Date(date)));
export const moment = (date: string): string => (Number.isNaN(Date.parse(date)) ? '–' : DATE.format(new Date(date)));

export const kbps = (value: number): string => (value === 0 ? '–' : bits(value * 1000));

/** A datapath id in pairs of digits, without those that are zero at its start. */
export const dpidWords = (dpid: string): string => dpid.replace(/(..)(?=.)/g, '$1:');

/** What a switch without a name is called: `s5`, as Mininet does, or its last digits. */
export function short(dpid: string): string {
  const number = Number.parseInt(dpid, 16);
  return number <= 1e9 ? `s${number}` : `…${dpid.slice(-6)}`;
}

/** The words of an event's kind, as in `link down`. */
export const words = (kind: string): string => kind.replaceAll('-', ' ');
