// What the laboratory found: its files, each shown in a frame that can do nothing.

import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { url } from '../core/api';
import { byPath, useResource } from '../core/poll';
import { href } from '../core/router';
import { bytes, moment } from '../core/units';
import { Copyable, Empty, Pending } from '../ui/kit';
import { Table, type Column } from '../ui/table';

interface Report {
  name: string;
  bytes: number;
  at: string;
}

interface Reports {
  items: Report[];
  total: number;
  place: string;
}

/** Where files are: what else an answer says is none. */
const PLACE = /^reports\/[0-9a-f]{64}\/$/;
const NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/;

const KINDS: Record<string, string> = { html: 'report', svg: 'picture', csv: 'values', toml: 'plan or run', md: 'text', txt: 'text' };
const kindOf = (name: string) => KINDS[name.split('.').at(-1) ?? ''] ?? 'file';

const COLUMNS: readonly Column<Report>[] = [
  { key: 'name', title: 'File', wraps: true, value: (row) => row.name },
  { key: 'kind', title: 'What', value: (row) => kindOf(row.name), width: '8rem' },
  { key: 'at', title: 'Written', value: (row) => row.at, cell: (row) => moment(row.at), width: '15rem', wideOnly: true },
  { key: 'bytes', title: 'Size', value: (row) => row.bytes, cell: (row) => bytes(row.bytes), right: true, width: '6rem' },
];

export function Reports({ of }: { of: string }): JSX.Element {
  const { data, error } = useResource(byPath<Reports>('api/v1/reports', 10_000));
  if (error?.status === 404) return <NoFolder />;
  if (data === null) return <Pending error={error} />;
  return of === '' ? <List items={data.items} /> : <Shown name={of} data={data} />;
}

function List({ items }: { items: readonly Report[] }): JSX.Element {
  return (
    <Table
      name="files of the laboratory"
      rows={items}
      columns={COLUMNS}
      rowKey={(row) => row.name}
      href={(row) => href('reports', row.name)}
      sort="name"
      empty={
        <Empty title="The folder has no results yet">
          <p>An experiment leaves its values there, and a report makes one page of all of them.</p>
          <Copyable text="aldis lab run maestro/table-1" />
          <Copyable text="aldis lab report" />
        </Empty>
      }
    />
  );
}

function NoFolder(): JSX.Element {
  return (
    <Empty title="No folder of results is shown here">
      <p>Start the controller with the folder into which “aldis lab run” writes.</p>
      <Copyable text="aldis run --http-reports results" />
    </Empty>
  );
}

function Shown({ name, data }: { name: string; data: Reports }): JSX.Element {
  const known = data.items.some((one) => one.name === name);
  const path = useMemo(() => `${data.place}${name.split('/').map(encodeURIComponent).join('/')}`, [data.place, name]);
  const isFine = known && PLACE.test(data.place) && NAME.test(name);
  return (
    <div class="app-page report-page">
      <a class="back" href={href('reports')}>
        All results
      </a>
      <h2>{name}</h2>
      {isFine ? (
        <iframe key={path} title={`The file ${name}`} src={url(path)} sandbox="" referrerpolicy="no-referrer" />
      ) : (
        <Empty title="There is no such file">It was removed, or another run has taken its place.</Empty>
      )}
    </div>
  );
}
