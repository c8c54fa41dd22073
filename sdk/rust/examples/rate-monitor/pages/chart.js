// Asks for the rates each second, and draws a line of the last minute for each port: what it
// received, and what it sent.
(() => {
  'use strict';
  const WIDTH = 240;
  const HEIGHT = 32;
  const SAMPLES = 60;
  const body = document.getElementById('ports');
  const state = document.getElementById('state');
  const rows = new Map();

  function inWords(bps) {
    const units = ['bit/s', 'kbit/s', 'Mbit/s', 'Gbit/s'];
    let unit = 0;
    while (bps >= 1000 && unit < units.length - 1) {
      bps /= 1000;
      unit += 1;
    }
    return `${bps < 10 && unit > 0 ? bps.toFixed(1) : Math.round(bps)} ${units[unit]}`;
  }

  /** The lines have the colours of the numbers beside them. */
  function draw(canvas, cells, port) {
    const pen = canvas.getContext('2d');
    const most = Math.max(1, ...port.rx_history, ...port.tx_history);
    pen.clearRect(0, 0, WIDTH, HEIGHT);
    for (const [samples, cell] of [[port.tx_history, cells[3]], [port.rx_history, cells[2]]]) {
      pen.strokeStyle = getComputedStyle(cell).color;
      pen.beginPath();
      samples.forEach((bps, at) => {
        const x = ((at + SAMPLES - samples.length) * WIDTH) / SAMPLES;
        pen.lineTo(x, HEIGHT - 1 - (bps / most) * (HEIGHT - 2));
      });
      pen.stroke();
    }
  }

  function row(key) {
    if (!rows.has(key)) {
      const line = document.createElement('tr');
      const cells = [1, 2, 3, 4].map(() => line.appendChild(document.createElement('td')));
      const canvas = document.createElement('canvas');
      Object.assign(canvas, { width: WIDTH, height: HEIGHT });
      line.appendChild(document.createElement('td')).append(canvas);
      body.append(line);
      rows.set(key, { line, cells, canvas });
    }
    return rows.get(key);
  }

  function show({ switches }) {
    const seen = new Set();
    for (const { dpid, ports } of switches) {
      for (const port of ports) {
        const key = `${dpid} ${port.port}`;
        const { cells, canvas } = row(key);
        seen.add(key);
        const texts = [dpid, port.port, inWords(port.rx_bps), inWords(port.tx_bps)];
        texts.forEach((text, at) => { cells[at].textContent = text; });
        draw(canvas, cells, port);
      }
    }
    for (const [key, { line }] of rows) {
      if (!seen.has(key)) {
        line.remove();
        rows.delete(key);
      }
    }
    state.textContent = seen.size === 0 ? 'No switch has told of its ports yet.' : '';
  }

  async function look() {
    try {
      show(await aldis.get('rates'));
    } catch (error) {
      state.textContent = error.message;
    }
    setTimeout(look, 1000);
  }

  look();
})();
