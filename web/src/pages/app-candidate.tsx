// Another version in the shadow of an application: it is handed the same events, and its commands are
// compared and not sent.

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ask } from '../core/api';
import type { App, Candidate } from '../core/types';
import { count } from '../core/units';
import { Bar, Button, Chip, Dialog, Field } from '../ui/kit';
import { attempt, FileButton, pathOf } from './app-actions';
import { wordsOf } from './app-states';

interface ShadowProps {
  app: App;
  onClose: () => void;
  onDone: () => void;
}

/** Asks for the package, and whether it is promoted by itself. */
export function Shadow({ app, onClose, onDone }: ShadowProps): JSX.Element {
  const [after, setAfter] = useState('');
  const [busy, setBusy] = useState(false);
  const isCount = after === '' || /^[1-9]\d{0,8}$/.test(after);
  const begin = async (file: File) => {
    setBusy(true);
    const query = after === '' ? '' : `?after=${after}`;
    const does = () => ask(`${pathOf(app.name)}/candidate${query}`, { method: 'PUT', body: file });
    if (await attempt(does, `${file.name} runs in the shadow of ${app.name}.`, onDone)) onClose();
    setBusy(false);
  };
  return (
    <Dialog title={`Try another version of ${app.name}`} onClose={onClose}>
      <p>It is handed the same events as the one that runs. Its commands are compared with those of the other, and not sent.</p>
      <Field label="Promote it by itself after so many equal batches in a row" hint="Empty: only by hand.">
        <input inputMode="numeric" value={after} onInput={(event) => setAfter(event.currentTarget.value.trim())} />
      </Field>
      <div class="row">
        <FileButton disabled={busy || !isCount} onFile={(file) => void begin(file)}>
          {busy ? 'It is checked and compiled…' : 'Choose its package'}
        </FileButton>
      </div>
    </Dialog>
  );
}

/** How it does, and what becomes of it. */
export function InShadow({ app, candidate, onDone }: { app: App; candidate: Candidate; onDone: () => void }): JSX.Element {
  const { agreed, differed } = candidate;
  const all = agreed + differed;
  const state = wordsOf(candidate.state);
  const path = pathOf(app.name);
  const promote = () => attempt(() => ask(`${path}/promote`, { method: 'POST', body: {} }), `${app.name} is ${candidate.version} now.`, onDone);
  const end = () => attempt(() => ask(`${path}/candidate`, { method: 'DELETE' }), `${candidate.version} runs no more.`, onDone);
  return (
    <section class="candidate" aria-label={`In the shadow of ${app.name}`}>
      <h3>
        In its shadow: {candidate.version} <Chip tone={state.tone}>{state.word}</Chip>
      </h3>
      <p>
        {all === 0
          ? 'No batch was compared yet.'
          : `${count(agreed)} of ${count(all)} batches had the same commands, the last ${count(candidate.agreed_last)} in a row.`}
      </p>
      {all === 0 ? null : <Bar part={agreed / all} tone={differed === 0 ? 'ok' : 'warn'} />}
      {candidate.last_difference ? <p class="difference">The last difference: {candidate.last_difference}</p> : null}
      <div class="row">
        <Button needs="admin" onClick={() => void promote()}>
          Promote
        </Button>
        <Button needs="admin" onClick={() => void end()}>
          Give it up
        </Button>
      </div>
    </section>
  );
}
