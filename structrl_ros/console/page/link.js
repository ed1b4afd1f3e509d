// The connection: a session, a WebSocket that comes back by itself, and POSTs with the secret.

let csrf = '';
let socket = null;
let pause = 500;

const LONGEST_PAUSE = 4000;

async function openSession() {
  const answer = await fetch('/session', { cache: 'no-store' });
  const told = await answer.json();
  if (answer.ok) csrf = told.csrf;
  return answer.ok;
}

export async function login(token) {
  const answer = await send('/login', { token });
  if (answer.ok) csrf = (await answer.json()).csrf;
  return answer.ok;
}

// Resolves to {done, message}; a session that has ended is opened again, once.
export async function ask(action, body, limit = 35000) {
  let answer = await send(`/do/${action}`, body, limit);
  if (answer.status === 401 || answer.status === 403) {
    if (await openSession()) answer = await send(`/do/${action}`, body, limit);
  }
  const told = await answer.json();
  return { done: told.is_done === true, message: told.message || `status ${answer.status}` };
}

function send(path, body, limit = 10000) {
  return fetch(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Structrl-Csrf': csrf },
    body: JSON.stringify(body),
    cache: 'no-store',
    signal: AbortSignal.timeout(limit),
  });
}

// on: {open(), state(document), picture(head, blob) -> Promise, lost(), token()}
export async function connect(on) {
  let isOpen = false;
  try {
    isOpen = await openSession();
    if (!isOpen) {
      on.token();
      return;
    }
  } catch {
    on.lost();
    again(on);
    return;
  }
  const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
  socket = new WebSocket(`${scheme}://${location.host}/live`);
  socket.binaryType = 'arraybuffer';
  socket.onopen = () => {
    pause = 500;
    on.open();
  };
  socket.onmessage = (event) => take(on, event.data);
  socket.onclose = () => {
    socket = null;
    on.lost();
    again(on);
  };
}

export function look(roles) {
  tell({ look: roles });
}

function again(on) {
  setTimeout(() => connect(on), pause);
  pause = Math.min(2 * pause, LONGEST_PAUSE);
}

function tell(message) {
  if (socket !== null && socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
}

async function take(on, data) {
  if (typeof data === 'string') {
    on.state(JSON.parse(data));
    tell({ seen: 'state' });
    return;
  }
  const length = new DataView(data).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length)));
  await on.picture(head, new Blob([new Uint8Array(data, 4 + length)], { type: 'image/jpeg' }));
  tell({ seen: head.role });
}
