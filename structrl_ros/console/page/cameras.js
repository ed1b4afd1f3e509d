// One figure a camera role; the picture's age stands below it, and a stale one turns grey.

const STALE_S = 1.5;
const NAMES = { head: 'Head', left_wrist: 'Left wrist', right_wrist: 'Right wrist' };
const figures = new Map();
const list = document.getElementById('cameras');
const none = document.getElementById('no-cameras');

export function setRoles(roles) {
  for (const [role, figure] of figures) {
    if (!roles.includes(role)) {
      figure.root.remove();
      figures.delete(role);
    }
  }
  for (const role of roles) if (!figures.has(role)) add(role);
  none.hidden = roles.length > 0;
}

function add(role) {
  const root = document.createElement('figure');
  const image = document.createElement('img');
  const caption = document.createElement('figcaption');
  const age = document.createElement('span');
  image.alt = `Camera ${NAMES[role] || role}`;
  image.id = `camera-${role}`;
  image.width = 320;
  image.height = 240;
  age.className = 'age';
  age.textContent = 'waiting';
  caption.append(NAMES[role] || role, age);
  root.append(image, caption);
  list.append(root);
  figures.set(role, { root, image, age, url: '', heard: null });
}

export async function show(head, blob) {
  const figure = figures.get(head.role);
  if (figure === undefined) return;
  const url = URL.createObjectURL(blob);
  const old = figure.url;
  figure.image.src = url;
  figure.url = url;
  try {
    await figure.image.decode();
  } catch {
    // Replaced before it was drawn: the next one counts.
  }
  if (old) URL.revokeObjectURL(old);
  figure.image.dataset.number = head.number;
  figure.heard = performance.now() - 1000 * head.age_s;
}

export function tick() {
  for (const { root, age, heard } of figures.values()) {
    if (heard === null) continue;
    const seconds = (performance.now() - heard) / 1000;
    const stale = seconds > STALE_S;
    root.classList.toggle('stale', stale);
    age.classList.toggle('stale', stale);
    age.textContent = stale ? `stale: ${seconds.toFixed(1)} s old` : 'live';
  }
}
