// Numbers for people.

/** Four significant digits at most. */
export function figure(value) {
  if (value === null || value === undefined) return '–';
  if (!Number.isFinite(value)) return 'not finite';
  if (value === 0) return '0';
  const magnitude = Math.abs(value);
  if (magnitude < 1e-3 || magnitude >= 1e6) return value.toExponential(2).replace(/\.?0+e/, 'e').replace('e+', 'e');
  const decimals = Math.min(6, Math.max(0, 3 - Math.floor(Math.log10(magnitude))));
  const text = value.toFixed(decimals);
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

export const withUnit = (value, unit) => (unit ? `${figure(value)} ${unit}` : figure(value));

/** Numbers side by side; beside a large one what rounding leaves of the others is zero. */
export function vector(numbers) {
  const least = Math.max(1e-9, 1e-8 * Math.max(...numbers.map(Math.abs)));
  return numbers.map((number) => figure(Math.abs(number) < least ? 0 : number)).join('  ');
}

export const degrees = (radians) => `${figure((radians * 180) / Math.PI)}°`;

/** A number as people write it, fractions included; null if it is none. */
export function quantity(text) {
  const parts = String(text).split('/');
  if (parts.length > 2 || parts.some((part) => part.trim() === '')) return null;
  const [above, below] = parts.map(Number);
  const value = parts.length === 2 ? above / below : above;
  return Number.isFinite(value) ? value : null;
}

/** A step size: 1/60 rather than 0.016667 where it is one. */
export function stepSize(dt) {
  const rate = 1 / dt;
  return Math.abs(rate - Math.round(rate)) < 1e-6 * rate && rate > 1.5 ? `1/${Math.round(rate)}` : String(Number(dt.toPrecision(6)));
}
