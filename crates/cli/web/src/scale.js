// Axes of charts: pure arithmetic.

/** Round numbers between two ends, about `wanted` of them. */
export function ticks(low, high, wanted = 4) {
  const span = high - low;
  if (!(span > 0) || !Number.isFinite(span)) return [];
  const power = 10 ** Math.floor(Math.log10(span / wanted));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= (span / wanted) * 0.999);
  const result = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * span; k++) result.push(k === 0 ? 0 : k * step);
  return result;
}

/** Powers of ten between two ends. */
export function decades(low, high, wanted = 4) {
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const step = Math.max(1, Math.ceil((last - first) / wanted));
  const result = [];
  for (let power = first; power <= last; power += step) result.push(Number(`1e${power}`));
  return result;
}

/** The ends of an axis that shows all values; a logarithmic one leaves out what is not positive. */
export function extent(values, logarithmic) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (!Number.isFinite(value) || (logarithmic && value <= 0)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) return logarithmic ? [1e-12, 1] : [0, 1];
  if (logarithmic) {
    const [first, last] = [Math.floor(Math.log10(Math.max(low, high * 1e-12))), Math.ceil(Math.log10(high))];
    return [Number(`1e${first}`), Number(`1e${Math.max(last, first + 1)}`)];
  }
  if (low === high) {
    const around = low === 0 ? 1 : 0.1 * Math.abs(low);
    return [low - around, high + around];
  }
  const air = 0.06 * (high - low);
  return [low - air, high + air];
}

/** A history of bounded length; the oldest falls out. */
export class History {
  constructor(capacity) {
    this.capacity = capacity;
    this.clear();
  }

  clear() { this.times = []; this.rows = []; }

  add(time, row) {
    const last = this.times.length - 1;
    if (last >= 0 && time < this.times[last]) this.clear();
    if (last >= 0 && time === this.times[last]) { this.rows[last] = row; return; }
    this.times.push(time);
    this.rows.push(row);
    if (this.times.length > 1.25 * this.capacity) {
      this.times.splice(0, this.times.length - this.capacity);
      this.rows.splice(0, this.rows.length - this.capacity);
    }
  }
}
