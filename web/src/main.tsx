// The page: one view for each address.

import { render } from 'preact';
import 'uplot/dist/uPlot.min.css';
import './style/base.css';
import './style/shell.css';
import './style/parts.css';
import './style/pages.css';
import { useCell } from './core/cell';
import { follow } from './core/live';
import { place } from './core/router';
import { Empty } from './ui/kit';
import { Shell } from './ui/shell';
import { Topology } from './pages/topology';
import { Switches } from './pages/switches';
import { SwitchPage } from './pages/switch';
import { Hosts } from './pages/hosts';
import { Performance } from './pages/performance';
import { Applications } from './pages/apps';
import { AppPage } from './pages/app-page';
import { StaticFlows } from './pages/static-flows';
import { Acl } from './pages/acl';
import { Events } from './pages/events';
import { Log } from './pages/log';
import { Reports } from './pages/reports';
import { Settings } from './pages/settings';

function View() {
  const { page, of } = useCell(place);
  switch (page) {
    case 'topology':
      return <Topology />;
    case 'switches':
      return of === '' ? <Switches /> : <SwitchPage key={of} dpid={of} />;
    case 'hosts':
      return <Hosts />;
    case 'performance':
      return <Performance />;
    case 'apps':
      return of === '' ? <Applications /> : <AppPage key={of} name={of} />;
    case 'static-flows':
      return <StaticFlows />;
    case 'acl':
      return <Acl />;
    case 'events':
      return <Events />;
    case 'log':
      return <Log />;
    case 'reports':
      return <Reports of={of} />;
    case 'settings':
      return <Settings />;
    default:
      return (
        <Empty title="There is no such page">
          <p>
            <a href="#/topology">Go to the topology</a>
          </p>
        </Empty>
      );
  }
}

render(
  <Shell>
    <View />
  </Shell>,
  document.getElementById('app')!,
);
void follow();
