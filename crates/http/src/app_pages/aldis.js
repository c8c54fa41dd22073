// The way from a page of an application to the routes of that application. The page runs in a frame
// that has no origin and no key; the web interface around it asks for it.
//
//     const report = await aldis.get('report?last=10');
//     await aldis.post('doors', { port: 7 });
//
// An answer of JSON comes as its value, another one as text. What was not done is an Error whose
// `status` is the one of HTTP; 0 where nothing answered.
(() => {
  'use strict';
  const waiting = new Map();
  let last = 0;

  function failure(message, status) {
    return Object.assign(new Error(message), { status });
  }

  function ask(method, path, body) {
    return new Promise((done, failed) => {
      if (window.parent === window) {
        failed(failure('This page is open by itself: open it in the web interface of the controller.', 0));
        return;
      }
      last += 1;
      waiting.set(last, { done, failed });
      // What a page says is for its own application; no other site can be its parent.
      window.parent.postMessage({ aldis: 'ask', id: last, method, path: String(path), body }, '*');
    });
  }

  window.addEventListener('message', (event) => {
    if (event.source !== window.parent || event.data === null || typeof event.data !== 'object') return;
    const { aldis, id, status, value, error } = event.data;
    const one = waiting.get(id);
    if (aldis !== 'answer' || one === undefined) return;
    waiting.delete(id);
    if (error === undefined) one.done(value);
    else one.failed(failure(String(error), status));
  });

  window.aldis = Object.freeze({
    get: (path) => ask('GET', path),
    post: (path, body) => ask('POST', path, body),
    put: (path, body) => ask('PUT', path, body),
    remove: (path) => ask('DELETE', path),
  });
})();
