// What is shown while no switch is connected: how to connect one.

import type { JSX } from 'preact';
import { Copyable } from '../ui/kit';
import { Lamp } from '../ui/icons';

// With loops, so that traffic has another way where a link is cut.
const MININET = 'sudo mn --controller remote,ip=127.0.0.1 --switch ovs,protocols=OpenFlow13,datapath=user --topo torus,3,3';
const EMULATED = 'aldis emulate 127.0.0.1:6653 --topology fat-tree,4 --load 400 --for 3600';
const OVS = 'sudo ovs-vsctl set-controller BRIDGE tcp:127.0.0.1:6653';

export function NothingConnected(): JSX.Element {
  return (
    <div class="nothing">
      <Lamp size={72} />
      <h2>No switch is connected yet</h2>
      <p>The controller listens. Start a network in another terminal, and it is drawn here as it comes.</p>
      <h3>With Mininet</h3>
      <Copyable text={MININET} />
      <p class="hint">
        Then, in Mininet: <code>pingall</code>, and <code>link s1x1 s1x2 down</code> cuts a link.
      </p>
      <h3>Without root: an emulated network</h3>
      <Copyable text={EMULATED} />
      <h3>A bridge of Open vSwitch</h3>
      <Copyable text={OVS} />
    </div>
  );
}
