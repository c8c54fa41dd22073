// Tables that sort, filter and export. Only the rows in sight are in the page, so that ten thousand
// flows scroll as well as ten.

import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { place, setQuery } from '../core/router';
import { useCell } from '../core/cell';
import { Button, Empty } from './kit';

export interface Column<T> {
  key: string;
  title: string;
  /** What the rows are sorted by, and what is exported. */
  value: (row: T) => string | number | null | undefined;
  cell?: (row: T) => ComponentChildren;
  /** Numbers stand to the right. */
  right?: boolean;
  /** Left out on narrow screens. */
  wideOnly?: boolean;
  width?: string;
  /** Long text, which may take several lines. */
  wraps?: boolean;
}

export interface TableProps<T> {
  name: string;
  rows: readonly T[];
  columns: readonly Column<T>[];
  rowKey: (row: T) => string;
  href?: (row: T) => string;
  sort?: string;
  empty?: ComponentChildren;
  tools?: ComponentChildren;
  rowTone?: (row: T) => string;
}

const ROW = 38;
const SPARE = 12;
/** Up to so many rows are drawn whole, with heights of their own. */
const WHOLE_MAX = 150;

export function Table<T>(props: TableProps<T>): JSX.Element {
  const { query } = useCell(place);
  const text = query['q'] ?? '';
  const sort = query['sort'] ?? props.sort ?? props.columns[0]!.key;
  const rows = useMemo(
    () => sorted(filtered(props.rows, props.columns, text), props.columns, sort),
    [props.rows, props.columns, text, sort],
  );
  return (
    <div class="table">
      <div class="tools">
        <input
          type="search"
          class="filter"
          placeholder="Filter"
          aria-label={`Filter ${props.name}`}
          value={text}
          onInput={(event) => setQuery({ q: event.currentTarget.value })}
        />
        <span class="found" role="status">
          {rows.length === props.rows.length ? `${rows.length}` : `${rows.length} of ${props.rows.length}`}
        </span>
        <div class="space" />
        {props.tools}
        <Button icon="down" label="Export as CSV" onClick={() => save(props, rows, 'csv')}>
          CSV
        </Button>
        <Button icon="down" label="Export as JSON" onClick={() => save(props, rows, 'json')}>
          JSON
        </Button>
      </div>
      {rows.length === 0 ? (
        (text === '' && props.empty) || <Empty title={text === '' ? 'Nothing here' : `Nothing fits “${text}”`} />
      ) : (
        <Rows {...props} rows={rows} sort={sort} />
      )}
    </div>
  );
}

function Rows<T>(props: TableProps<T> & { sort: string }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(700);
  const isWhole = props.rows.length <= WHOLE_MAX;
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const watch = new ResizeObserver(() => setHeight(element.clientHeight));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  const first = isWhole ? 0 : Math.max(0, Math.min(Math.floor(top / ROW) - SPARE, props.rows.length - 1));
  const last = isWhole ? props.rows.length : Math.min(props.rows.length, first + Math.ceil(height / ROW) + 2 * SPARE);
  return (
    <div
      class={`rows ${isWhole ? 'whole' : 'windowed'}`}
      ref={box}
      tabIndex={0}
      role="region"
      aria-label={props.name}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
    >
      <table aria-rowcount={props.rows.length}>
        <thead>
          <tr>
            {props.columns.map((column) => (
              <Head key={column.key} column={column} sort={props.sort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {first > 0 ? <tr class="gap" style={{ height: `${first * ROW}px` }} /> : null}
          {props.rows.slice(first, last).map((row) => (
            <tr key={props.rowKey(row)} class={props.rowTone?.(row) ?? ''}>
              {props.columns.map((column, at) => (
                <td key={column.key} class={classOf(column)}>
                  {at === 0 && props.href !== undefined ? (
                    <a href={props.href(row)}>{shown(column, row)}</a>
                  ) : (
                    shown(column, row)
                  )}
                </td>
              ))}
            </tr>
          ))}
          {last < props.rows.length ? <tr class="gap" style={{ height: `${(props.rows.length - last) * ROW}px` }} /> : null}
        </tbody>
      </table>
    </div>
  );
}

function Head<T>({ column, sort }: { column: Column<T>; sort: string }): JSX.Element {
  const isOn = sort === column.key || sort === `-${column.key}`;
  const falls = sort.startsWith('-');
  const turn = () => setQuery({ sort: isOn && !falls ? `-${column.key}` : column.key });
  return (
    <th class={classOf(column)} aria-sort={isOn ? (falls ? 'descending' : 'ascending') : 'none'} style={{ width: column.width }}>
      <button type="button" onClick={turn}>
        {column.title}
        <span aria-hidden="true">{isOn ? (falls ? ' ↓' : ' ↑') : ''}</span>
      </button>
    </th>
  );
}

const classOf = <T,>(column: Column<T>) => `${column.right ? 'right' : ''} ${column.wideOnly ? 'wide-only' : ''} ${column.wraps ? 'wraps' : ''}`;

const shown = <T,>(column: Column<T>, row: T): ComponentChildren => column.cell?.(row) ?? column.value(row) ?? '–';

/** What a filter finds a value by. A fraction is shown rounded: its digits say nothing to a reader. */
const wordOf = (value: string | number | null | undefined): string =>
  typeof value === 'number' && !Number.isInteger(value) ? '' : String(value ?? '');

export function filtered<T>(rows: readonly T[], columns: readonly Column<T>[], text: string): readonly T[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return rows;
  return rows.filter((row) => {
    const all = columns.map((column) => wordOf(column.value(row))).join(' ').toLowerCase();
    return words.every((word) => all.includes(word));
  });
}

/** Datapath ids, whose digits are hexadecimal. */
const ID = /^[0-9a-f]{16}$/;
const ORDER = new Intl.Collator(undefined, { numeric: true });

export function sorted<T>(rows: readonly T[], columns: readonly Column<T>[], sort: string): readonly T[] {
  const falls = sort.startsWith('-');
  const column = columns.find((one) => one.key === sort.replace(/^-/, ''));
  if (column === undefined) return rows;
  const compare = (a: T, b: T) => {
    const [left, right] = [column.value(a), column.value(b)];
    if (typeof left === 'number' && typeof right === 'number') return left - right;
    if (ID.test(String(left)) && ID.test(String(right))) return String(left) < String(right) ? -1 : 1;
    return ORDER.compare(String(left ?? ''), String(right ?? ''));
  };
  const copy = [...rows].sort(compare);
  return falls ? copy.reverse() : copy;
}

/** One cell of CSV (RFC 4180); text that a spreadsheet would take for a formula stays text. */
export function csvCell(value: string | number | null | undefined): string {
  if (typeof value === 'number') return String(value);
  const text = value ?? '';
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function save<T>(props: TableProps<T>, rows: readonly T[], kind: 'csv' | 'json'): void {
  const table = [props.columns.map((column) => column.title), ...rows.map((row) => props.columns.map((column) => column.value(row)))];
  const text =
    kind === 'json' ? JSON.stringify(rows, null, 2) : table.map((row) => row.map(csvCell).join(',')).join('\r\n');
  const type = kind === 'json' ? 'application/json' : 'text/csv';
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = `${props.name.replaceAll(' ', '-')}.${kind}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
