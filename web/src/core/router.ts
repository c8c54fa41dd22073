// Addresses: every view has one behind the `#`, so that it can be shared and the back button works.

import { Cell } from './cell';

export interface Place {
  /** The page, as in `switches`. */
  page: string;
  /** What of it, as in the datapath id of a switch. */
  of: string;
  /** The part of it that is shown, as in `flows`. */
  part: string;
  query: Record<string, string>;
}

export const place = new Cell<Place>(read());

function read(): Place {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?', 2);
  const [page = '', of = '', part = ''] = path.split('/').map(decode);
  return { page: page || 'topology', of, part, query: Object.fromEntries(new URLSearchParams(query)) };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function href(page: string, of = '', part = '', query: Record<string, string> = {}): string {
  const path = [page, of, part].filter((piece) => piece !== '').map(encodeURIComponent).join('/');
  const kept = Object.entries(query).filter(([, value]) => value !== '');
  const asked = kept.length === 0 ? '' : `?${new URLSearchParams(kept)}`;
  return `#/${path}${asked}`;
}

export function go(to: string): void {
  location.hash = to;
}

/** Other words in the address of the same view, without a new step of the back button. */
export function setQuery(change: Record<string, string>): void {
  const { page, of, part, query } = place.value;
  history.replaceState(null, '', href(page, of, part, { ...query, ...change }));
  place.set(read());
}

addEventListener('hashchange', () => place.set(read()));
