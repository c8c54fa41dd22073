// What happens, as the controller tells it: one stream of events, followed again by itself.

import { headers, keyName, needsKey, sentence, url } from './api';
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
let lastId = '';

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
export async function follow(): Promise<never> {
  for (let wait = WAIT_MIN_MS; ; ) {
    if (needsKey.value !== null) await until(() => needsKey.value === null);
    const began = performance.now();
    try {
      await stream();
      lostWhy.set('The controller ended the stream of events.');
    } catch (error) {
      lostWhy.set(sentence(error));
    }
    connection.set('lost');
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

async function stream(): Promise<void> {
  const ends = new AbortController();
  const changedKey = keyName.follow(() => ends.abort());
  const after: Record<string, string> = lastId === '' ? {} : { 'Last-Event-ID': lastId };
  const path = lastId === '' ? 'api/v1/events?after=oldest' : 'api/v1/events';
  let silence = setTimeout(() => ends.abort(), SILENCE_MS);
  try {
    const response = await fetch(url(path), {
      headers: headers({ ...after, Accept: 'text/event-stream' }),
      credentials: 'omit',
      cache: 'no-store',
      signal: ends.signal,
    });
    if (response.status === 401) {
      const said = (await response.json().catch(() => ({}))) as { detail?: string };
      needsKey.set(said.detail ?? 'The controller needs a key.');
    }
    if (!response.ok || response.body === null) throw new Error(`The events were refused (${response.status}).`);
    connection.set('live');
    const parser = new Parser(take, (id) => (lastId = id));
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(silence);
      silence = setTimeout(() => ends.abort(), SILENCE_MS);
      parser.feed(value);
    }
  } finally {
    clearTimeout(silence);
    changedKey();
    ends.abort();
  }
}

/** Server-sent events out of the pieces in which they come. */
export class Parser {
  private rest = '';
  private data = '';

  constructor(
    private readonly onEvent: (event: LiveEvent) => void,
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
        this.onEvent(JSON.parse(text) as LiveEvent);
      } catch {
        // An event that another version of the controller sends: passed over.
      }
    }
  }
}
