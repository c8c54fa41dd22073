// Requests to the controller that served this page, and to no other server.

import { Cell } from './cell';

/** What the controller said it could not do (RFC 9457). */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly kind: string,
    message: string,
  ) {
    super(message);
  }
}

/** The key of this tab; gone when the tab is closed. */
const KEY = 'aldis.key';
/** Answers that take longer are given up. */
const PATIENCE_MS = 20_000;
/** The same for an answer to a file. */
const FILE_PATIENCE_MS = 120_000;
/** How often a request is sent again that was told to come later. */
const AGAIN_MAX = 3;

/** Whether a key is asked for, and why. */
export const needsKey = new Cell<string | null>(null);
/** The name of the key in use, if one is. */
export const keyName = new Cell<string | null>(nameOf(storedKey()));

/** Whether the key in use was good for something. */
let wasGood = false;
const TAKEN_AWAY = 'Your key is not known any more: it was taken away, or is another now. What you typed is still there.';

export function url(path: string): string {
  return new URL(path, document.baseURI.split('#')[0]).toString();
}

function storedKey(): string | null {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function nameOf(header: string | null): string | null {
  if (header === null) return null;
  try {
    const [scheme, secret = ''] = header.split(' ', 2);
    const text = scheme === 'Basic' ? new TextDecoder().decode(bytesOf(secret)) : secret;
    return text.split(scheme === 'Basic' ? ':' : '.', 1)[0] ?? null;
  } catch {
    return null;
  }
}

function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

/** Says the key from now on: a token `NAME.SECRET`, or a user's name and password. */
export function logIn(key: { token: string } | { user: string; password: string }): void {
  const basic = (text: string) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));
  const header =
    'token' in key ? `Bearer ${key.token.trim()}` : `Basic ${basic(`${key.user}:${key.password}`)}`;
  try {
    sessionStorage.setItem(KEY, header);
  } catch {
    // A browser that keeps nothing: the next request asks again.
  }
  wasGood = false;
  keyName.set(nameOf(header));
  needsKey.set(null);
}

export function logOut(): void {
  try {
    sessionStorage.removeItem(KEY);
  } catch {
    // There is none.
  }
  keyName.set(null);
  needsKey.set('You are logged out. The controller needs a key.');
}

export function headers(more: Record<string, string> = {}): Record<string, string> {
  const key = storedKey();
  return key === null ? more : { ...more, Authorization: key };
}

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms));

export interface Ask {
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  body?: unknown;
  headers?: Record<string, string>;
}

/** Asks, and gives the answer's JSON. */
export async function ask<T>(path: string, { method = 'GET', body, headers: more }: Ask = {}): Promise<T> {
  const response = await request(path, { method, body, headers: more });
  const text = await response.text();
  try {
    return (text === '' ? null : JSON.parse(text)) as T;
  } catch {
    const what = 'What the controller answered cannot be read: it is not whole, or something changed it on its way.';
    throw new Problem(response.status, 'broken', what);
  }
}

export async function request(path: string, { method = 'GET', body, headers: more }: Ask): Promise<Response> {
  for (let tried = 0; ; tried += 1) {
    const response = await send(path, method, body, more);
    if (response.ok) {
      wasGood = keyName.value !== null;
      return response;
    }
    const later = Number(response.headers.get('Retry-After'));
    if (method === 'GET' && later > 0 && later <= 5 && tried < AGAIN_MAX) {
      await sleep(later * 1000);
      continue;
    }
    return refused(response);
  }
}

/** Throws what the controller said; where the key is not good any more, another one is asked for. */
export async function refused(response: Response): Promise<never> {
  const problem = await problemOf(response);
  if (response.status === 401) needsKey.set(problem.kind === 'wrong-key' && wasGood ? TAKEN_AWAY : problem.message);
  throw problem;
}

async function send(path: string, method: string, body: unknown, more?: Record<string, string>) {
  const isFile = body instanceof Blob;
  const kind = isFile ? 'application/octet-stream' : 'application/json';
  const json: Record<string, string> = body === undefined ? {} : { 'Content-Type': kind };
  const message: RequestInit = {
    method,
    headers: headers({ ...json, ...more }),
    // The browser's own prompt for a password never comes up.
    credentials: 'omit',
    cache: 'no-cache',
    // A package is compiled before it is answered for.
    signal: AbortSignal.timeout(isFile ? FILE_PATIENCE_MS : PATIENCE_MS),
  };
  if (body !== undefined) message.body = isFile ? body : JSON.stringify(body);
  try {
    return await fetch(url(path), message);
  } catch (error) {
    const late = error instanceof DOMException && error.name === 'TimeoutError';
    const what = late
      ? `The controller did not answer within ${(isFile ? FILE_PATIENCE_MS : PATIENCE_MS) / 1000} s.`
      : 'The controller does not answer. Is it running? This page tries again by itself.';
    throw new Problem(0, late ? 'late' : 'unreachable', what);
  }
}

async function problemOf(response: Response): Promise<Problem> {
  try {
    const said = (await response.json()) as { type?: string; detail?: string; title?: string };
    const kind = (said.type ?? '').replace('urn:aldis:', '');
    return new Problem(response.status, kind, said.detail ?? said.title ?? `status ${response.status}`);
  } catch {
    return new Problem(response.status, '', `The answer was ${response.status} ${response.statusText}.`);
  }
}

export const sentence = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
