// Two small charts in SVG: a line of values, and a step line with a bar for every payment.

const LEFT = 40;
const RIGHT = 10;
const TOP = 10;
const BOTTOM = 20;
const MARKUP = 'http://www.w3.org/2000/svg';

function node(name, attributes, text) {
  const made = document.createElementNS(MARKUP, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// points: [{t, y, bar?}]; steps: hold each value until the next.
export function draw(svg, points, { low, high, steps = false, unit }) {
  const width = svg.clientWidth;
  const height = svg.clientHeight;
  svg.replaceChildren();
  if (width < LEFT + RIGHT + 10) return;
  svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  const values = points.map((p) => p.y);
  const bottom = Math.min(low, ...values);
  const top = Math.max(high, ...values);
  const start = points.length ? points[0].t : 0;
  const end = Math.max(points.length ? points[points.length - 1].t : 0, start + 1);
  const x = (t) => LEFT + ((width - LEFT - RIGHT) * (t - start)) / (end - start);
  const y = (v) => height - BOTTOM - ((height - TOP - BOTTOM) * (v - bottom)) / (top - bottom);
  for (const value of new Set([bottom, 0, top].filter((v) => v >= bottom && v <= top))) {
    svg.append(node('line', { class: 'grid', x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }));
    svg.append(node('text', { x: LEFT - 6, y: y(value) + 4, 'text-anchor': 'end' }, round(value)));
  }
  svg.append(node('text', { x: LEFT, y: height - 4 }, `${start.toFixed(0)} s`));
  svg.append(node('text', { x: width - RIGHT, y: height - 4, 'text-anchor': 'end' }, `${end.toFixed(0)} s`));
  for (const { t, bar } of points) {
    if (!bar) continue;
    const from = y(Math.max(bar, 0));
    svg.append(node('rect', { class: 'bar', x: x(t) - 2, width: 4, y: from, height: Math.abs(y(0) - y(bar)) }));
  }
  if (!points.length) return;
  let path = `M${x(points[0].t)} ${y(points[0].y)}`;
  for (const { t, y: value } of points.slice(1)) path += steps ? `H${x(t)}V${y(value)}` : `L${x(t)} ${y(value)}`;
  svg.append(node('path', { class: 'line', d: path }));
  const { t, y: value } = points[points.length - 1];
  svg.append(node('circle', { class: 'dot', cx: x(t), cy: y(value), r: 3 }));
  svg.setAttribute('aria-label', `${unit}: ${round(value)} after ${t.toFixed(1)} s`);
}

export function round(value) {
  return Number(value.toFixed(3)).toString();
}
