// Resources of the API that views follow: asked for while a view needs them, once for all of them.

import { useEffect } from 'preact/hooks';
import { ask, needsKey, Problem } from './api';
import { Cell, useCell } from './cell';

export interface Answer<T> {
  data: T | null;
  error: Problem | null;
  /** When the data came, in milliseconds of the page's clock. */
  at: number;
}

const NONE: Answer<never> = { data: null, error: null, at: 0 };

export class Resource<T> extends Cell<Answer<T>> {
  private users = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private asking = false;
  /** When it is asked for next, by the page's clock. */
  private due = Infinity;
  private again = false;

  constructor(
    private readonly fetchIt: () => Promise<T>,
    private readonly everyMs: number,
  ) {
    super(NONE as Answer<T>);
  }

  use(): () => void {
    this.users += 1;
    if (this.users === 1) void this.tick();
    return () => {
      this.users -= 1;
      if (this.users > 0) return;
      clearTimeout(this.timer);
      this.due = Infinity;
    };
  }

  /** Asks soon: many calls within a moment are one question. */
  soon(ms = 150): void {
    if (this.users === 0 || this.due <= performance.now() + ms) return;
    this.wait(ms);
  }

  private wait(ms: number): void {
    clearTimeout(this.timer);
    this.due = performance.now() + ms;
    this.timer = setTimeout(() => void this.tick(), ms);
  }

  async now(): Promise<void> {
    clearTimeout(this.timer);
    await this.tick();
  }

  private async tick(): Promise<void> {
    this.due = Infinity;
    if (this.asking) {
      this.again = true;
      return;
    }
    this.asking = true;
    const hidden = document.hidden && this.value.data !== null;
    if (!hidden && needsKey.value === null) await this.askOnce();
    this.asking = false;
    if (this.users === 0) return;
    const failed = this.value.error !== null;
    const wait = this.again ? 100 : failed ? Math.max(this.everyMs, 2000) : this.everyMs;
    this.again = false;
    this.wait(wait);
  }

  private async askOnce(): Promise<void> {
    try {
      const data = await this.fetchIt();
      this.set({ data, error: null, at: performance.now() });
    } catch (error) {
      const problem = error instanceof Problem ? error : new Problem(0, 'failed', String(error));
      const gone = problem.status === 404 ? null : this.value.data;
      this.set({ ...this.value, data: gone, error: problem });
    }
  }
}

export const resource = <T>(path: string, everyMs: number): Resource<T> =>
  new Resource(() => ask<T>(path), everyMs);

/** The newest answer of a resource, asked for as long as the view is there. */
export function useResource<T>(from: Resource<T>): Answer<T> {
  useEffect(() => from.use(), [from]);
  return useCell(from);
}

const named = new Map<string, Resource<unknown>>();
/** Resources by path that are remembered; the oldest is forgotten beyond these. */
const NAMED_MAX = 60;

/** The resource of a path that several views may ask for. */
export function byPath<T>(path: string, everyMs: number): Resource<T> {
  const known = named.get(path) as Resource<T> | undefined;
  if (known !== undefined) return known;
  const made = resource<T>(path, everyMs);
  named.set(path, made as Resource<unknown>);
  if (named.size > NAMED_MAX) named.delete(named.keys().next().value as string);
  return made;
}

addEventListener('visibilitychange', () => {
  if (!document.hidden) for (const one of named.values()) one.soon(0);
});
needsKey.follow(() => {
  if (needsKey.value === null) for (const one of named.values()) one.soon(0);
});
