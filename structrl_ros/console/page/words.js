// What is written on the page: plan, verdicts, health, chips.

const at = (id) => document.getElementById(id);
const SIGNS = { done: '✓', current: '▶', blocked: '·', open: '○' };
const STATES = { done: 'done', current: 'now', blocked: 'waits for an earlier stage', open: 'open' };
const LEVELS = ['good', 'warn', 'bad', 'warn'];
/** Components report once a second. */
const STALE_S = 4;

function element(name, className, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

export function chip(id, text, kind) {
  const target = at(id);
  if (target.textContent !== text) target.textContent = text;
  target.className = `chip ${kind}`;
}

export function plan(page) {
  at('no-plan').hidden = page !== null && page.subtasks.length > 0;
  at('no-plan').textContent = page === null ? 'No plan yet.' : 'Nothing to do: hold.';
  at('plan-about').textContent = page === null ? '' : `revision ${page.revision}, by ${page.planner}`;
  const rows = page === null ? [] : page.subtasks;
  at('plan').replaceChildren(
    ...rows.map((step) => {
      const sign = element('span', '', SIGNS[step.state]);
      sign.setAttribute('aria-label', STATES[step.state]);
      sign.title = STATES[step.state];
      const row = element('li', step.state, sign, element('span', '', step.phrase || step.id));
      if (step.state === 'current') row.setAttribute('aria-current', 'step');
      return row;
    }),
  );
  const reasoning = page === null ? '' : page.reasoning;
  at('reasoning').hidden = !reasoning;
  at('reasoning-text').textContent = reasoning;
}

export function verdict(page) {
  if (page === null) return;
  const word = page.done ? 'done' : page.stop ? 'stop' : 'not done yet';
  const sure = `${(100 * page.confidence).toFixed(0)} % sure, ${(1000 * page.latency_s).toFixed(0)} ms`;
  at('verdict').textContent = `${page.subtask}: ${word} (${page.monitor}, ${sure})`;
}

export function verdicts(entries) {
  at('verdicts').replaceChildren(
    ...entries.slice(-8).reverse().map((entry) => {
      const mark = element('span', `mark ${entry.done ? 'good' : 'warn'}`, entry.done ? 'done ' : 'stopped ');
      const when = element('span', 'when', `${entry.t.toFixed(1)} s`);
      return element('li', '', element('span', '', mark, entry.subtask), when);
    }),
  );
}

export function health(rows, present, ageing) {
  at('health').replaceChildren(
    ...rows.map((row) => {
      const age = row.age_s + ageing;
      const stale = age > STALE_S;
      const mark = element('span', `mark ${stale ? 'warn' : LEVELS[row.level] || 'warn'}`, `${row.name} `);
      const when = element('span', 'when', stale ? `silent for ${age.toFixed(0)} s` : 'now');
      return element('li', '', element('span', '', mark, row.text), when);
    }),
  );
  const missing = Object.keys(present).filter((name) => !present[name]);
  at('missing').textContent = missing.length ? `Not in this graph: ${missing.join(', ')}.` : '';
  const recorder = rows.find((row) => row.name.includes('recorder_node'));
  at('recorder').textContent = recorder ? recorder.text : '';
}

export function episode(page) {
  if (page === null) return;
  const end = page.ended ? `, ended: ${page.success ? 'success' : page.reason}` : '';
  at('episode').textContent =
    `${page.body}, ${page.task}, episode ${page.number}, state ${page.initial_state}, seed ${page.seed}${end}`;
  if (!at('instruction').value && !at('instruction').dataset.touched) {
    at('instruction').value = page.instruction;
  }
}
