// Charts on canvases: energy, joint error, penetration, step time, iterations.

import { make } from './dom.js';
import { figure } from './format.js';
import { decades, extent, ticks } from './scale.js';

const COLOURS = ['#e08a2e', '#3b8fd0', '#58a65c', '#b05cc4'];
const CHARTS = [
  { title: 'energy', unit: 'J', summary: 'last', lines: [['kinetic', (s) => s.kinetic], ['potential', (s) => s.potential], ['elastic', (s) => s.elastic], ['total', (s) => s.kinetic + s.potential + s.elastic]] },
  { title: 'largest joint error', unit: 'm, rad', logarithmic: true, lines: [['m', (s) => s.joint_error_m], ['rad', (s) => s.joint_error_rad]] },
  { title: 'penetration', unit: 'm', logarithmic: true, lines: [['m', (s) => s.penetration_m]] },
  { title: 'step time', unit: 'ms', lines: [['ms', (s) => s.step_ms]] },
  { title: 'iterations', unit: '', summary: 'sum', lines: [['joints', (s) => s.joint_iterations], ['contacts', (s) => s.contact_iterations]] },
];
/** Of a chart, px, as in style.css. */
const HEIGHT = 84;
const MARGIN = { left: 46, right: 4, top: 7, bottom: 14 };

export class Charts {
  constructor(box) {
    this.items = CHARTS.map((chart) => {
      const value = make('span', { className: 'quiet' });
      const canvas = make('canvas');
      const legend = chart.lines.length > 1 ? make('div', { className: 'legend' }, ...chart.lines.map(([name], k) => { const item = make('span', {}, name); item.style.color = COLOURS[k]; return item; })) : null;
      const whole = make('div', { className: 'chart' }, make('div', { className: 'head' }, make('span', {}, chart.title), value), canvas, legend);
      box.append(whole);
      const item = { ...chart, value, canvas, whole, size: [whole.clientWidth, HEIGHT] };
      // as with colours, asking in every frame is dear
      new ResizeObserver(() => { item.size = whole.offsetParent === null ? [0, 0] : [whole.clientWidth, HEIGHT]; }).observe(whole);
      return item;
    });
    this.readColours();
  }

  /** Draws a history (times and stats); `cursor` is a time to mark, for replays. */
  draw(times, rows, cursor) {
    this.items.forEach((_, k) => this.drawOne(k, times, rows, cursor));
  }

  /** One of them; drawing them by turns keeps every picture short. */
  drawOne(k, times, rows, cursor) {
    const item = this.items[k % this.items.length];
    if (item.size[0] > 0) drawChart(item, times, rows, cursor, ...this.colours);
  }

  /** Colours are read when they change: asking for them makes the browser lay out the page. */
  readColours() {
    const style = getComputedStyle(document.documentElement);
    this.colours = ['--quiet', '--line'].map((name) => style.getPropertyValue(name).trim());
  }
}

function drawChart(item, times, rows, cursor, textColour, lineColour) {
  const { canvas } = item;
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = item.size;
  if (canvas.width !== Math.round(width * ratio)) { canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio); }
  const pen = canvas.getContext('2d');
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  const columns = item.lines.map(([, read]) => rows.map(read));
  const used = columns.map((column) => column.some((value) => value !== 0 && Number.isFinite(value)));
  const last = rows.length - 1;
  const now = cursor === undefined ? last : Math.max(0, times.findLastIndex((time) => time <= cursor + 1e-9));
  const present = columns.map((column) => column[now] ?? 0);
  // the total of an energy, the worst of an error, the sum of iterations
  const shown = item.summary === 'last' ? present.at(-1) : item.summary === 'sum' ? present.reduce((a, b) => a + b, 0) : Math.max(...present);
  const text = `${figure(shown)} ${item.unit}`;
  if (item.value.textContent !== text) item.value.textContent = text;
  // what is zero throughout needs no room
  item.whole.classList.toggle('empty', !used.some(Boolean));
  if (!used.some(Boolean)) return;
  const [low, high] = extent(columns.filter((_, k) => used[k]).flat(), item.logarithmic);
  const [t0, t1] = [times[0] ?? 0, Math.max(times[last] ?? 1, (times[0] ?? 0) + 1e-9)];
  const [w, h] = [width - MARGIN.left - MARGIN.right, height - MARGIN.top - MARGIN.bottom];
  const x = (time) => MARGIN.left + (w * (time - t0)) / (t1 - t0);
  const y = item.logarithmic
    ? (value) => MARGIN.top + h * (1 - Math.log(Math.max(value, low) / low) / Math.log(high / low))
    : (value) => MARGIN.top + h * (1 - (value - low) / (high - low));
  pen.font = '10px system-ui, sans-serif';
  pen.fillStyle = textColour;
  pen.strokeStyle = lineColour;
  pen.lineWidth = 1;
  pen.textAlign = 'right';
  pen.textBaseline = 'middle';
  for (const tick of item.logarithmic ? decades(low, high, 3) : ticks(low, high, 3)) {
    const at = Math.round(y(tick)) + 0.5;
    if (at < MARGIN.top - 1 || at > MARGIN.top + h + 1) continue;
    pen.beginPath(); pen.moveTo(MARGIN.left, at); pen.lineTo(width - MARGIN.right, at); pen.stroke();
    pen.fillText(figure(tick), MARGIN.left - 4, at);
  }
  pen.textBaseline = 'bottom';
  pen.textAlign = 'left';
  if (rows.length) pen.fillText(`${figure(t0)} s`, MARGIN.left, height);
  pen.textAlign = 'right';
  if (rows.length) pen.fillText(`${figure(t1)} s`, width - MARGIN.right, height);
  columns.forEach((column, k) => { if (used[k]) drawLine(pen, times, column, x, y, w, COLOURS[k % COLOURS.length], item.logarithmic); });
  if (cursor !== undefined) {
    pen.strokeStyle = textColour;
    pen.beginPath(); pen.moveTo(x(cursor), MARGIN.top); pen.lineTo(x(cursor), MARGIN.top + h); pen.stroke();
  }
}

/** No more points than pixels: of those that fall together the lowest and the highest. */
function drawLine(pen, times, column, x, y, width, colour, logarithmic) {
  pen.strokeStyle = colour;
  pen.lineWidth = 1.4;
  pen.beginPath();
  const bucket = Math.max(1, Math.ceil(column.length / Math.max(1, width)));
  let down = false;
  const point = (k) => {
    if (!Number.isFinite(column[k]) || (logarithmic && column[k] <= 0)) { down = false; return; }
    if (down) pen.lineTo(x(times[k]), y(column[k])); else pen.moveTo(x(times[k]), y(column[k]));
    down = true;
  };
  for (let start = 0; start < column.length; start += bucket) {
    let [low, high] = [start, start];
    for (let k = start; k < Math.min(start + bucket, column.length); k++) {
      if (column[k] < column[low]) low = k;
      if (column[k] > column[high]) high = k;
    }
    point(Math.min(low, high));
    if (low !== high) point(Math.max(low, high));
  }
  pen.stroke();
}
