// What the page of an application may ask for: the routes of that application, and nothing else. The
// page is in a frame without an origin; its requests come as messages, and are sent with the key of
// this tab.

import { request, sentence, Problem, url, type Ask } from './api';

/** Requests of one page at a time. Further ones are refused. */
const AT_ONCE_MAX = 8;
/** Letters of a body: as many as the controller reads. */
const BODY_MAX = 64 * 1024;
/** Letters of a path. */
const PATH_MAX = 2048;
const METHODS: readonly string[] = ['GET', 'POST', 'PUT', 'DELETE'];

interface Asked {
  aldis: 'ask';
  id: number;
  method: NonNullable<Ask['method']>;
  path: string;
  body: unknown;
}

function isAsked(data: unknown): data is Asked {
  if (typeof data !== 'object' || data === null) return false;
  const { aldis, id, method, path } = data as Record<string, unknown>;
  return aldis === 'ask' && Number.isSafeInteger(id) && METHODS.includes(method as string) && typeof path === 'string';
}

/** The address of an application's route; null where a path could lead to another one. */
export function routeOf(app: string, path: string): string | null {
  if (path.length > PATH_MAX || /[\u0000-\u0020\\#]/.test(path)) return null;
  const [route = '', ...query] = path.replace(/^\//, '').split('?');
  const parts = route.split('/');
  const isPlain = (part: string, at: number) => {
    try {
      const plain = decodeURIComponent(part);
      if (plain === '') return at === parts.length - 1;
      return plain !== '.' && plain !== '..' && !/[/\\\u0000-\u001f]/.test(plain) && !(at === 0 && plain.startsWith('@'));
    } catch {
      return false;
    }
  };
  if (!parts.every(isPlain)) return null;
  const base = `apps/${encodeURIComponent(app)}/`;
  const address = base + route + (query.length === 0 ? '' : `?${query.join('?')}`);
  // Whatever was overlooked: the browser says where it leads.
  const to = new URL(url(address));
  const root = new URL(url(base));
  return to.origin === root.origin && to.pathname.startsWith(root.pathname) ? address : null;
}

/** A value as it is sent: text as it is, everything else as JSON. */
function written(body: unknown): { text: string; kind: string } | null {
  if (body === undefined || body === null) return null;
  if (typeof body === 'string') return { text: body, kind: 'text/plain' };
  return { text: JSON.stringify(body), kind: 'application/json' };
}

async function answerTo(app: string, { method, path, body }: Asked): Promise<unknown> {
  const address = routeOf(app, path);
  if (address === null) throw new Problem(0, 'bad-path', `A page may ask for the routes of its own application, and ${JSON.stringify(path.slice(0, 200))} is none.`);
  const sent = written(body);
  if (sent !== null && sent.text.length > BODY_MAX) throw new Problem(0, 'bad-body', `The body is longer than ${BODY_MAX} letters.`);
  const raw = sent === null ? undefined : new Blob([sent.text], { type: sent.kind });
  const response = await request(address, { method, body: raw, headers: sent === null ? {} : { 'Content-Type': sent.kind } });
  const text = await response.text();
  const isJson = response.headers.get('Content-Type')?.startsWith('application/json') ?? false;
  return isJson && text !== '' ? JSON.parse(text) : text;
}

/** Answers what the page in a frame asks for, until what is returned is called. */
export function serve(frame: HTMLIFrameElement, app: string): () => void {
  let inHand = 0;
  const hear = (event: MessageEvent) => {
    const { source, data } = event;
    // The frame may hold nothing but its sandboxed page: that has no origin.
    if (source === null || source !== frame.contentWindow || event.origin !== 'null' || !isAsked(data)) return;
    const { id } = data;
    const say = (answer: object) => frame.contentWindow?.postMessage({ aldis: 'answer', id, ...answer }, '*');
    if (inHand >= AT_ONCE_MAX) {
      say({ status: 0, error: `The page has ${AT_ONCE_MAX} requests in hand already.` });
      return;
    }
    inHand += 1;
    answerTo(app, data)
      .then((value) => say({ status: 200, value }))
      .catch((problem: unknown) => say({ status: problem instanceof Problem ? problem.status : 0, error: sentence(problem) }))
      .finally(() => {
        inHand -= 1;
      });
  };
  addEventListener('message', hear);
  return () => removeEventListener('message', hear);
}
