// A value that views follow.

import { useEffect, useState } from 'preact/hooks';

export class Cell<T> {
  private followers = new Set<() => void>();

  constructor(private current: T) {}

  get value(): T {
    return this.current;
  }

  set(next: T): void {
    if (Object.is(next, this.current)) return;
    this.current = next;
    for (const follower of [...this.followers]) follower();
  }

  update(change: (current: T) => T): void {
    this.set(change(this.current));
  }

  follow(follower: () => void): () => void {
    this.followers.add(follower);
    return () => this.followers.delete(follower);
  }
}

/** The value of a cell, in a view that is drawn again when it changes. */
export function useCell<T>(cell: Cell<T>): T {
  const [value, setValue] = useState(cell.value);
  useEffect(() => {
    const take = () => setValue(() => cell.value);
    take();
    return cell.follow(take);
  }, [cell]);
  return value;
}

/** The value of a cell, in a view that is drawn again for it so often at the most. */
export function useCellEvery<T>(cell: Cell<T>, everyMs: number): T {
  const [value, setValue] = useState(cell.value);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const take = () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        setValue(() => cell.value);
      }, everyMs);
    };
    setValue(() => cell.value);
    const end = cell.follow(take);
    return () => {
      end();
      clearTimeout(timer);
    };
  }, [cell, everyMs]);
  return value;
}

/** A value that outlives the page, in this browser. */
export class Kept<T> extends Cell<T> {
  constructor(
    private readonly name: string,
    usual: T,
    isValid: (value: unknown) => value is T,
  ) {
    let first = usual;
    try {
      const text = localStorage.getItem(`aldis.${name}`);
      const value: unknown = text === null ? undefined : JSON.parse(text);
      if (isValid(value)) first = value;
    } catch {
      // A browser that keeps nothing, or what another version kept.
    }
    super(first);
  }

  override set(next: T): void {
    super.set(next);
    try {
      localStorage.setItem(`aldis.${this.name}`, JSON.stringify(next));
    } catch {
      // Full, or forbidden: it lasts as long as the page.
    }
  }
}

export const oneOf =
  <T extends string>(...words: T[]) =>
  (value: unknown): value is T =>
    words.includes(value as T);
