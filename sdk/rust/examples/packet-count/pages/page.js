// Shows what the application counts, and has it forget that.

const at = (id) => document.getElementById(id);
const say = (error) => (at('said').textContent = error.message);

async function show() {
  const { packets, senders } = await aldis.get('counts');
  at('packets').textContent = packets;
  at('senders').textContent = senders;
  const { items } = await aldis.get('switches');
  // A name comes from a person or a switch: it is text, and never markup.
  at('switches').replaceChildren(
    ...items.map((one) => Object.assign(document.createElement('li'), { textContent: one.name ?? one.dpid })),
  );
}

at('forget').addEventListener('click', () => {
  aldis.post('forget').then((said) => (at('said').textContent = said), say).then(show).catch(say);
});

show().catch(say);
setInterval(() => show().catch(say), 2000);
