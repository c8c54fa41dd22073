// The pieces that pages are made of.

import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Problem } from '../core/api';
import { Cell, useCell } from '../core/cell';
import { useLacks, type Role } from '../core/me';
import { Icon, type IconName } from './icons';

export interface ButtonProps {
  onClick?: () => void;
  children?: ComponentChildren;
  icon?: IconName;
  label?: string;
  kind?: 'plain' | 'main' | 'danger' | 'ghost';
  pressed?: boolean;
  disabled?: boolean;
  type?: 'button' | 'submit';
  /** Without this role it says why it does nothing. */
  needs?: Role;
}

export function Button({ onClick, children, icon, label, kind = 'plain', pressed, disabled, type = 'button', needs }: ButtonProps) {
  const lacks = useLacks(needs);
  const refuse = (event: Event) => {
    event.preventDefault();
    say('warn', lacks!);
  };
  return (
    <button
      type={type}
      class={`button ${kind} ${children === undefined ? 'square' : ''} ${lacks === null ? '' : 'lacks'}`}
      onClick={lacks === null ? onClick : refuse}
      title={lacks ?? label}
      aria-label={label}
      aria-pressed={pressed}
      aria-disabled={lacks === null ? undefined : true}
      disabled={disabled}
    >
      {icon === undefined ? null : <Icon name={icon} size={16} />}
      {children}
    </button>
  );
}

/** One choice of a few. */
export function Choice<T extends string>(props: {
  label: string;
  value: T;
  of: readonly (readonly [T, string])[];
  onChange: (value: T) => void;
}): JSX.Element {
  return (
    <div class="choice" role="radiogroup" aria-label={props.label}>
      {props.of.map(([value, text]) => (
        <button
          key={value}
          type="button"
          role="radio"
          aria-checked={value === props.value}
          class={value === props.value ? 'on' : ''}
          onClick={() => props.onChange(value)}
        >
          {text}
        </button>
      ))}
    </div>
  );
}

export type Tone = 'ok' | 'bad' | 'warn' | 'info' | 'dim';

export function Chip({ tone = 'dim', children, title }: { tone?: Tone; children: ComponentChildren; title?: string }) {
  return (
    <span class={`chip ${tone}`} title={title}>
      {children}
    </span>
  );
}

export function Figure({ name, value, note, tone }: { name: string; value: ComponentChildren; note?: ComponentChildren; tone?: Tone }) {
  return (
    <div class={`figure ${tone ?? ''}`}>
      <dt>{name}</dt>
      <dd>{value}</dd>
      {note === undefined ? null : <dd class="note">{note}</dd>}
    </div>
  );
}

export const Figures = ({ children }: { children: ComponentChildren }) => <dl class="figures">{children}</dl>;

export function Panel(props: { title?: ComponentChildren; aside?: ComponentChildren; children: ComponentChildren; flush?: boolean }) {
  return (
    <section class={`panel ${props.flush ? 'flush' : ''}`}>
      {props.title === undefined ? null : (
        <header>
          <h2>{props.title}</h2>
          <div class="aside">{props.aside}</div>
        </header>
      )}
      <div class="body">{props.children}</div>
    </section>
  );
}

/** A line to type, with a button that copies it. */
export function Copyable({ text }: { text: string }): JSX.Element {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      setTimeout(() => setCopied(false), 1600);
    } catch {
      say('bad', 'The browser does not let pages copy here: mark the line and copy it.');
    }
  };
  return (
    <div class="copyable">
      <code tabIndex={0}>{text}</code>
      <Button icon="copy" label={copied ? 'Copied' : 'Copy this line'} onClick={() => void copy()} kind="ghost">
        {copied ? 'Copied' : 'Copy'}
      </Button>
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="empty">
      <h3>{title}</h3>
      {children}
    </div>
  );
}

/** Why something is not there, and what to do. */
export function Trouble({ error, hint }: { error: Error; hint?: string }): JSX.Element {
  return (
    <div class="trouble" role="alert">
      <strong>{error instanceof Problem && error.status === 0 ? 'No answer' : 'Not shown'}</strong>
      <p>{error.message}</p>
      {hint === undefined ? null : <p>{hint}</p>}
    </div>
  );
}

/** What is shown until the first answer; it never lasts, because every question has a deadline. */
export function Pending({ error, hint }: { error: Error | null; hint?: string }): JSX.Element {
  if (error !== null) return <Trouble error={error} hint={hint} />;
  return (
    <div class="pending" role="status">
      Asking the controller…
    </div>
  );
}

interface Said {
  id: number;
  tone: Tone;
  text: string;
}

const said = new Cell<readonly Said[]>([]);
let nextId = 0;

/** Says a sentence at the edge of the page for a while. */
export function say(tone: Tone, text: string): void {
  nextId += 1;
  const id = nextId;
  said.update((old) => [...old.slice(-3), { id, tone, text }]);
  setTimeout(() => said.update((old) => old.filter((one) => one.id !== id)), tone === 'bad' ? 9000 : 4000);
}

export function Toasts(): JSX.Element {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {useCell(said).map((one) => (
        <div key={one.id} class={`toast ${one.tone}`}>
          {one.text}
        </div>
      ))}
    </div>
  );
}

/** A dialog of the browser: the focus stays inside, and Escape closes it. */
export function Dialog(props: { title: string; onClose: () => void; children: ComponentChildren; wide?: boolean }): JSX.Element {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = ref.current;
    if (dialog !== null && !dialog.open) dialog.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={ref}
      class={props.wide ? 'wide' : ''}
      aria-label={props.title}
      onCancel={(event) => {
        event.preventDefault();
        props.onClose();
      }}
      onClick={(event) => {
        if (event.target === ref.current) props.onClose();
      }}
    >
      <div class="inside">
        <header>
          <h2>{props.title}</h2>
          <Button icon="close" label="Close" kind="ghost" onClick={props.onClose} />
        </header>
        {props.children}
      </div>
    </dialog>
  );
}

export function Field(props: { label: string; hint?: string; children: ComponentChildren }): JSX.Element {
  return (
    <label class="field">
      <span>{props.label}</span>
      {props.children}
      {props.hint === undefined ? null : <small>{props.hint}</small>}
    </label>
  );
}

/** A part of a whole as a bar. */
export function Bar({ part, tone = 'info', mark }: { part: number; tone?: Tone; mark?: number }): JSX.Element {
  const width = `${Math.min(100, Math.max(0, part * 100))}%`;
  return (
    <div class={`bar ${tone}`}>
      <div style={{ width }} />
      {mark === undefined ? null : <i style={{ left: `${Math.min(100, mark * 100)}%` }} />}
    </div>
  );
}
