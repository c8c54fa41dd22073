// The page that an application brings along, in a frame that can do nothing but ask for the routes
// of that application.

import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { serve } from '../core/app-frame';
import { byPath, useResource } from '../core/poll';
import { href } from '../core/router';
import type { Apps } from '../core/types';
import { url } from '../core/api';
import { Empty, Pending } from '../ui/kit';

/** Where pages are: what else an answer says is none. */
const PLACE = /^apps\/[a-z][a-z0-9-]*\/@pages\/[0-9a-f]{64}\/$/;

export function AppPage({ name }: { name: string }): JSX.Element {
  const { data, error } = useResource(byPath<Apps>('api/v1/apps', 2000));
  if (data === null) return <Pending error={error} />;
  const page = data.apps.find((app) => app.name === name)?.page;
  return (
    <div class="app-page">
      <a class="back" href={href('apps')}>
        All applications
      </a>
      {typeof page === 'string' && PLACE.test(page) ? (
        <Frame key={page} name={name} page={page} />
      ) : (
        <Empty title={`${name} has no page`}>Its package has no pages/index.html, or it is not installed any more.</Empty>
      )}
    </div>
  );
}

function Frame({ name, page }: { name: string; page: string }): JSX.Element {
  const frame = useRef<HTMLIFrameElement>(null);
  useEffect(() => (frame.current === null ? undefined : serve(frame.current, name)), [name]);
  return <iframe ref={frame} title={`The page of ${name}`} src={url(page)} sandbox="allow-scripts" referrerpolicy="no-referrer" />;
}
