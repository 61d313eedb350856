// Orientations as three 16-bit words, as crates/io/src/recording/quantise.rs packs them.

const STEPS = 32767;

/** Unpacks `count` orientations from `words` into `out` as x, y, z, w. */
export function unpackOrientations(words, count, out) {
  for (let k = 0; k < count; k++) unpackOrientation(words[3 * k], words[3 * k + 1], words[3 * k + 2], out, 4 * k);
}

export function unpackOrientation(a, b, c, out, at) {
  const largest = (a >> 15) | ((b >> 15) << 1);
  const first = ((a & 0x7fff) / STEPS - 0.5) * Math.SQRT2;
  const second = ((b & 0x7fff) / STEPS - 0.5) * Math.SQRT2;
  const third = ((c & 0x7fff) / STEPS - 0.5) * Math.SQRT2;
  const rest = Math.sqrt(Math.max(0, 1 - first * first - second * second - third * third));
  out[at] = largest === 0 ? rest : first;
  out[at + 1] = largest === 1 ? rest : largest < 1 ? first : second;
  out[at + 2] = largest === 2 ? rest : largest < 2 ? second : third;
  out[at + 3] = largest === 3 ? rest : third;
}
