// The console: what the WebSocket brings goes to the parts of the page.

import * as cameras from './cameras.js';
import { draw, round } from './charts.js';
import * as controls from './controls.js';
import { connect, login, look } from './link.js';
import * as words from './words.js';

const at = (id) => document.getElementById(id);
const KEPT = 2000;
const LOST_S = 3;
const log = { rewards: [], potentials: [], verdicts: [] };
let page = null;
let heard = 0;
let isConnected = false;
let roles = [];

function takeState(document) {
  page = document;
  heard = performance.now();
  for (const kind of Object.keys(log)) {
    if (page.log.restart) log[kind] = [];
    if (page.log[kind].length) log[kind] = log[kind].concat(page.log[kind]).slice(-KEPT);
  }
  if (page.roles.join() !== roles.join()) {
    roles = page.roles;
    cameras.setRoles(roles);
    lookNow();
  }
  words.episode(page.episode);
  words.plan(page.plan);
  words.verdict(page.verdict);
  words.verdicts(log.verdicts);
  showTask(page.task);
  drawCharts();
  tick();
}

function lookNow() {
  look(document.hidden ? [] : roles);
}

function showTask(task) {
  if (task.state === 'idle') return;
  const end = task.state === 'running' ? 'under way' : `${task.state}: ${task.text}`;
  at('task').textContent = `“${task.instruction}”: ${end}`;
}

function drawCharts() {
  const rewards = log.rewards.map(({ t, total, value }) => ({ t, y: total, bar: value }));
  draw(at('return-chart'), rewards, { low: 0, high: 1, steps: true, unit: 'Return' });
  const paid = log.rewards.filter((r) => r.terms.length);
  const last = log.rewards[log.rewards.length - 1];
  at('return-now').textContent = last ? `return ${round(last.total)}` : '';
  at('terms').textContent = paid
    .slice(-3)
    .map((r) => `${r.t.toFixed(1)} s: ${r.terms.map(([name, v]) => `${name} ${round(v)}`).join(', ')}`)
    .join('; ');
  const potentials = log.potentials.map(({ t, value }) => ({ t, y: value }));
  draw(at('potential-chart'), potentials, { low: 0, high: 1, unit: 'Potential' });
  at('no-potential').hidden = potentials.length > 0 || page.graph.present['progress model'];
  at('potential-now').textContent = potentials.length ? round(potentials[potentials.length - 1].y) : '';
}

// Four times a second: what grows old says so.
function tick() {
  cameras.tick();
  const ageing = page === null ? 0 : (performance.now() - heard) / 1000;
  const isLost = !isConnected || ageing > LOST_S;
  document.body.classList.toggle('offline', isLost);
  controls.setReasons(page === null ? {} : page.reasons, !isLost);
  if (page === null) {
    at('lost').hidden = isConnected;
    at('lost').textContent = 'No connection to the console yet. Trying…';
    return;
  }
  words.health(page.health, page.graph.present, ageing);
  showGraph(isLost, ageing);
  showSafety(isLost);
}

function showGraph(isLost, ageing) {
  const { state, text, age_s: age } = page.graph;
  const kinds = { alive: 'good', silent: 'bad', absent: 'bad' };
  const since = age === null ? '' : ` (last sign of it ${(age + ageing).toFixed(0)} s ago)`;
  if (isLost) words.chip('graph', 'unknown', 'bad');
  else words.chip('graph', state, kinds[state]);
  at('lost').hidden = !isLost && state === 'alive';
  at('lost').textContent = isLost
    ? `No connection to the console; what is shown is ${ageing.toFixed(0)} s old. Trying again…`
    : text + since;
}

function showSafety(isLost) {
  const { safety, control, graph } = page;
  const old = isLost || graph.state !== 'alive';
  const name = safety === null ? 'unknown' : safety.state;
  const kind = { ok: 'good', hold: 'warn', stopped: 'bad', emergency: 'bad' }[name] || '';
  words.chip('safety', old ? `${name}?` : name, old ? 'warn' : kind);
  at('safety').title = safety === null ? '' : safety.reason;
  const who = { nobody: '', operator: 'warn' }[control.who] ?? 'accent';
  words.chip('control', old ? `${control.who}?` : `${control.who}: ${control.text}`, old ? 'warn' : who);
  const latched = safety !== null && safety.latched;
  at('latched').hidden = !latched;
  if (latched) {
    at('latched-title').textContent = name === 'emergency' ? 'EMERGENCY STOP is latched.' : 'The body is stopped.';
    at('latched-text').textContent = safety.reason;
  }
  document.title = latched ? '■ STOPPED: structrl console' : 'structrl console';
}

const on = {
  open() {
    isConnected = true;
    lookNow();
  },
  state: takeState,
  picture: cameras.show,
  lost() {
    isConnected = false;
    tick();
  },
  token() {
    at('login').showModal();
    at('token').focus();
  },
};

at('login-form').addEventListener('submit', async (event) => {
  event.preventDefault();
  at('login-text').textContent = 'looking…';
  let isRight = false;
  try {
    isRight = await login(at('token').value);
    at('login-text').textContent = isRight ? '' : 'That is not the token.';
  } catch (error) {
    at('login-text').textContent = error.message;
  }
  at('token').value = '';
  if (isRight) {
    at('login').close();
    connect(on);
  }
});
document.addEventListener('visibilitychange', lookNow);
window.addEventListener('resize', () => page !== null && drawCharts());
controls.start();
setInterval(tick, 250);
connect(on);
