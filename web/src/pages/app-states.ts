// What the states of an application are called, and what they say.

import type { AppState } from '../core/types';
import type { Tone } from '../ui/kit';

export interface StateWords {
  word: string;
  tone: Tone;
  says: string;
}

const STATES: Record<AppState, StateWords> = {
  running: { word: 'runs', tone: 'ok', says: 'Every worker calls it.' },
  stopped: { word: 'stopped', tone: 'dim', says: 'No worker calls it; it can be started.' },
  waiting: { word: 'waits', tone: 'warn', says: 'It starts together with the application that it needs.' },
  failed: { word: 'failed', tone: 'bad', says: 'It is left out; it can be started again.' },
  restarting: { word: 'starts again', tone: 'warn', says: 'It failed in its sandbox, and starts again after a while.' },
  quarantined: { word: 'quarantined', tone: 'bad', says: 'It failed in its sandbox too often, and is left out until it is started.' },
};

/** Of a controller that is newer than this page, the state as it says it; an older one has none. */
export const wordsOf = (state: AppState | undefined): StateWords =>
  STATES[state ?? 'running'] ?? { word: String(state), tone: 'dim', says: '' };
