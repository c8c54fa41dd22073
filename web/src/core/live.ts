// What happens, as the controller tells it: streams that are followed again by themselves.

import { headers, keyName, needsKey, refused, sentence, url } from './api';
import { Cell } from './cell';
import type { LiveEvent } from './types';

/** Events that are kept for the views; older ones are forgotten. */
export const KEPT_MAX = 4096;
/** A single event is never longer; a stream that sends more without an end is given up. */
const LINE_MAX = 1 << 20;
/** The stream is opened anew after so long without a byte. */
const SILENCE_MS = 60_000;
const WAIT_MIN_MS = 300;
const WAIT_MAX_MS = 5000;

export type Connection = 'connecting' | 'live' | 'lost';

export const connection = new Cell<Connection>('connecting');
/** Why the stream is not there, in words. */
export const lostWhy = new Cell('');
/** The newest events, oldest first. */
export const events = new Cell<readonly LiveEvent[]>([]);
/** How many events came since the page was opened. */
export const eventCount = new Cell(0);

type Taker = (events: readonly LiveEvent[]) => void;
const takers = new Set<Taker>();

/** Calls with what happened since the last call, once a frame at most. */
export function onEvents(taker: Taker): () => void {
  takers.add(taker);
  return () => takers.delete(taker);
}

let waiting: LiveEvent[] = [];
let scheduled = false;

function take(event: LiveEvent): void {
  waiting.push(event);
  if (waiting.length > KEPT_MAX) waiting.shift();
  if (scheduled) return;
  scheduled = true;
  // A timer and not a frame: a page in the background gets no frames.
  setTimeout(flush, 30);
}

function flush(): void {
  scheduled = false;
  const batch = waiting;
  waiting = [];
  events.update((old) => old.concat(batch).slice(-KEPT_MAX));
  eventCount.update((count) => count + batch.length);
  for (const taker of takers) taker(batch);
}

/** Follows for as long as the page is there. */
export const follow = (): Promise<void> => followStream<LiveEvent>('api/v1/events', new AbortController().signal, take, note);

function note(now: Connection, why: string): void {
  if (why !== '') lostWhy.set(why);
  connection.set(now);
}

/** Takes what a stream of the controller sends, the kept ones first, and follows it again by itself, until it is aborted. */
export async function followStream<T>(
  path: string,
  signal: AbortSignal,
  onItem: (item: T) => void,
  onState: (now: Connection, why: string) => void,
): Promise<void> {
  const place = { last: '' };
  for (let wait = WAIT_MIN_MS; !signal.aborted; ) {
    if (needsKey.value !== null) await until(() => needsKey.value === null);
    const began = performance.now();
    let why = 'The controller ended the stream.';
    try {
      await stream(path, place, signal, onItem, onState);
    } catch (error) {
      why = sentence(error);
    }
    if (signal.aborted) return;
    onState('lost', why);
    // A stream that lasted was a good one.
    wait = performance.now() - began > 10_000 ? WAIT_MIN_MS : Math.min(wait * 1.7, WAIT_MAX_MS);
    await new Promise((done) => setTimeout(done, wait * (0.7 + 0.6 * Math.random())));
  }
}

function until(is: () => boolean): Promise<void> {
  return new Promise((done) => {
    const end = needsKey.follow(() => {
      if (is()) {
        end();
        done();
      }
    });
  });
}

async function stream<T>(
  path: string,
  place: { last: string },
  signal: AbortSignal,
  onItem: (item: T) => void,
  onState: (now: Connection, why: string) => void,
): Promise<void> {
  const ends = new AbortController();
  const end = () => ends.abort();
  const changedKey = keyName.follow(end);
  signal.addEventListener('abort', end);
  const after: Record<string, string> = place.last === '' ? {} : { 'Last-Event-ID': place.last };
  let silence = setTimeout(end, SILENCE_MS);
  try {
    const response = await fetch(url(place.last === '' ? `${path}?after=oldest` : path), {
      headers: headers({ ...after, Accept: 'text/event-stream' }),
      credentials: 'omit',
      cache: 'no-store',
      signal: ends.signal,
    });
    if (!response.ok) await refused(response);
    if (response.body === null) throw new Error('The controller sent nothing.');
    onState('live', '');
    const parser = new Parser<T>(onItem, (id) => (place.last = id));
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(silence);
      silence = setTimeout(end, SILENCE_MS);
      parser.feed(value);
    }
  } finally {
    clearTimeout(silence);
    changedKey();
    signal.removeEventListener('abort', end);
    ends.abort();
  }
}

/** Server-sent events out of the pieces in which they come. */
export class Parser<T> {
  private rest = '';
  private data = '';

  constructor(
    private readonly onItem: (item: T) => void,
    private readonly onId: (id: string) => void,
  ) {}

  feed(piece: string): void {
    this.rest += piece;
    const lines = this.rest.split('\n');
    this.rest = lines.pop() ?? '';
    if (this.rest.length > LINE_MAX) throw new Error('The controller sent a line without an end.');
    for (const line of lines) this.line(line.replace(/\r$/, ''));
  }

  private line(line: string): void {
    if (line.startsWith('data:')) {
      this.data += line.slice(5).trimStart();
    } else if (line.startsWith('id:')) {
      this.onId(line.slice(3).trim());
    } else if (line === '') {
      const text = this.data;
      this.data = '';
      if (text === '') return;
      try {
        this.onItem(JSON.parse(text) as T);
      } catch {
        // One that another version of the controller sends: passed over.
      }
    }
  }
}
