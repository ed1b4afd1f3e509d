// The buttons. One that cannot work now says why, in its tooltip and when it is pressed.

import { ask } from './link.js';

const at = (id) => document.getElementById(id);
const STOP_TRIES = 12;
const STOP_PAUSE = 300;
let reasons = {};
let noticeTimer = 0;
let isStopping = false;

// Button -> [action of the server, body, question that is asked first]
const BUTTONS = {
  cancel: ['cancel', {}],
  release_takeover: ['release_takeover', {}],
  mark_success: ['mark', { success: true }],
  mark_failure: ['mark', { success: false }],
  record: ['record', {}],
  stop_recording: ['stop_recording', {}],
  new_episode: [
    'new_episode',
    { confirmed: true },
    ['Begin a new episode?', 'The present one ends, and the body goes to the start of the scene.'],
  ],
  reset: [
    'reset_safety',
    { confirmed: true },
    ['Reset the stop?', 'Look at the robot first: is everybody clear of it? It holds until the next task is run.'],
  ],
};

export function setReasons(now, isConnected) {
  reasons = now;
  const why = isConnected ? '' : 'no connection to the console';
  for (const [id, [action]] of Object.entries(BUTTONS)) mark(at(id), why || reasons[action] || '');
  mark(at('run'), why || reasons.run || '');
}

function mark(button, why) {
  button.setAttribute('aria-disabled', why ? 'true' : 'false');
  button.title = why;
}

export function notice(text) {
  const box = at('notice');
  box.textContent = text;
  box.hidden = false;
  clearTimeout(noticeTimer);
  noticeTimer = setTimeout(() => {
    box.hidden = true;
  }, 5000);
}

async function press(button, action, body) {
  if (button.title) {
    notice(button.title);
    return;
  }
  try {
    const { done, message } = await ask(action, body);
    notice(done ? message || 'done' : `Not done: ${message}`);
  } catch (error) {
    notice(`Not done: ${error.message}`);
  }
}

function confirmed(title, text) {
  const dialog = at('ask');
  at('ask-title').textContent = title;
  at('ask-text').textContent = text;
  dialog.showModal();
  at('ask-no').focus();
  // Not by the event `close`: it comes late, and would answer a question that was asked since.
  return new Promise((resolve) => {
    at('ask-yes').onclick = () => resolve(true);
    at('ask-no').onclick = () => resolve(false);
  });
}

// Tried again until it was delivered; what it takes to know that it was not is shown at once.
export async function stop() {
  if (at('ask').open) at('ask').close();
  if (isStopping) return;
  isStopping = true;
  const box = at('undelivered');
  let why = '';
  for (let i = 0; i < STOP_TRIES; i += 1) {
    try {
      const { done, message } = await ask('emergency_stop', {}, 6000);
      if (done) {
        box.hidden = true;
        isStopping = false;
        notice(`Emergency stop: ${message}`);
        return;
      }
      why = message;
    } catch (error) {
      why = error.message;
    }
    box.textContent = `EMERGENCY STOP NOT CONFIRMED: ${why}. Use the button on the robot!`;
    box.hidden = false;
    await new Promise((resolve) => setTimeout(resolve, STOP_PAUSE));
  }
  isStopping = false;
}

export function start() {
  at('stop').addEventListener('click', stop);
  window.addEventListener(
    'keydown',
    (event) => {
      if (event.key === 'Escape' && !event.repeat) stop();
    },
    { capture: true },
  );
  for (const [id, [action, body, question]] of Object.entries(BUTTONS)) {
    at(id).addEventListener('click', async () => {
      if (question && !at(id).title && !(await confirmed(...question))) return;
      press(at(id), action, body);
    });
  }
  at('instruction').addEventListener('input', () => {
    at('instruction').dataset.touched = 'yes';
  });
  at('run-form').addEventListener('submit', (event) => {
    event.preventDefault();
    const instruction = at('instruction').value.replace(/\s+/g, ' ').trim();
    if (!instruction && !at('run').title) notice('Give an instruction first');
    else press(at('run'), 'run', { instruction, time_limit_s: 0 });
  });
}
