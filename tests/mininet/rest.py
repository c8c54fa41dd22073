"""What scripts of Ryu's and Floodlight's ask of the controller, against Open vSwitch. Functions of a fresh `Lab`."""

import functools
import json
import urllib.error
import urllib.request

from mininet.topo import SingleSwitchTopo

from lab import Ping, expect, output, wait_until

BASE = "http://127.0.0.1:8080"


def ask(path, data=None, method=None):
    """The status of an answer and its body: JSON where there is any."""
    data = data if data is None or isinstance(data, bytes) else json.dumps(data).encode()
    request = urllib.request.Request(BASE + path, data=data, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            status, text = answer.status, answer.read()
    except urllib.error.HTTPError as refused:
        status, text = refused.code, refused.read()
    return status, json.loads(text) if text else None


def dump(version):
    return output("ovs-ofctl", "-O", version, "dump-flows", "s1")


def flow_with(version, *words):
    """The flow of Open vSwitch that has all these words, if there is one."""
    return next((line for line in dump(version).splitlines() if all(word in line for word in words)), None)


def started(lab, version):
    lab.start_controller("--apps", "learning-switch")
    net = lab.start_network(SingleSwitchTopo(2), version)
    wait_until("switch 1 in Ryu's list", lambda: ask("/stats/switches") == (200, [1]), seen=lambda: ask("/stats/switches"))
    return net


def ryu_rest(version, lab):
    """A flow that is added the Ryu way is there for Open vSwitch, and one of Open vSwitch's is shown the Ryu way."""
    started(lab, version)
    body = {"dpid": 1, "cookie": 7, "priority": 11111, "idle_timeout": 300,
            "match": {"in_port": 1, "dl_type": 2048, "nw_dst": "10.9.0.0/16", "nw_proto": 6, "tp_dst": 80},
            "actions": [{"type": "OUTPUT", "port": 2}]}
    answer = ask("/stats/flowentry/add", body)
    expect(answer == (200, None), "200 and nothing more", answer)
    # The switch confirmed it: it is there now, not soon.
    flow = flow_with(version, "cookie=0x7", "idle_timeout=300", "priority=11111,tcp,", "nw_dst=10.9.0.0/16", "tp_dst=80", "output:")
    expect(flow, "the flow at Open vSwitch", dump(version))
    output("ovs-ofctl", "-O", version, "add-flow", "s1", "priority=222,dl_vlan=12,actions=strip_vlan,output:1")
    status, shown = ask("/stats/flow/1", {"priority": 222})
    # 1.3 has VLAN ids as text, and pops a tag where 1.0 strips it.
    vlan, strip = (12, "STRIP_VLAN") if version == "OpenFlow10" else ("12", "POP_VLAN")
    expect(status == 200 and len(shown["1"]) == 1 and shown["1"][0]["match"] == {"dl_vlan": vlan}
           and shown["1"][0]["actions"] == [strip, "OUTPUT:1"], "Open vSwitch's flow", (status, shown))
    status, refused = ask("/stats/flowentry/add", {"dpid": 1, "actions": [{"type": "OUTPUT", "port": 60000}]})
    expect(status in (200, 400), "done, or refused in words", (status, refused))
    status, desc = ask("/stats/desc/1")
    expect(desc["1"]["hw_desc"] == "Open vSwitch", "Open vSwitch by its name", desc)
    answer = ask("/stats/flowentry/delete", {"dpid": 1, "match": {"in_port": 1, "dl_type": 2048}})
    expect(answer == (200, None) and not flow_with(version, "priority=11111"), "the flow is gone", dump(version))
    answer = ask("/stats/flowentry/clear/1", method="DELETE")
    expect(answer == (200, None) and not flow_with(version, "priority"), "every flow is gone", dump(version))


def floodlight_rest(version, lab):
    """An entry that is pushed the Floodlight way forwards, comes back when its switch starts anew, and goes when it is removed."""
    net = started(lab, version)
    one, two = net.hosts
    switch = "00:00:00:00:00:00:00:01"
    for name, source, target in (("there", 1, 2), ("back", 2, 1)):
        answer = ask("/wm/staticflowpusher/json", {"switch": switch, "name": name, "cookie": "0", "priority": "4000",
                                                   "in_port": str(source), "active": "true", "actions": f"output={target}"})
        expect(answer == (200, {"status": "Entry pushed"}), "Entry pushed", answer)
    expect(flow_with(version, "priority=4000,in_port"), "the entry at Open vSwitch", dump(version))
    ping = Ping(one, two)
    ping.wait_replies(3)
    ping.finish()
    mark = lab.mark()
    lab.vswitchd.kill()
    lab.start_vswitchd()
    lab.wait_connected(mark)
    wait_until("the entries again", lambda: dump(version).count("priority=4000") == 2, seen=lambda: dump(version))
    status, answer = ask("/wm/staticflowpusher/json", {"name": "there"}, method="DELETE")
    expect(answer == {"status": "Entry there deleted"} and dump(version).count("priority=4000") == 1, "one of two",
           (status, answer, dump(version)))


def all_of_them(versions):
    """Pairs of a name and a function of a `Lab`."""
    for body in (ryu_rest, floodlight_rest):
        for version in versions:
            yield f"{body.__name__} {version}", functools.partial(body, version)
