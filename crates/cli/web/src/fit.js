// Pure arithmetic of the camera.

/** How far points (three numbers each) reach in a direction. Written out, because there may be thousands of them before the first picture. */
export function farthest(points, x, y, z) {
  let most = -Infinity;
  for (let k = 0; k + 2 < points.length; k += 3) {
    const reach = x * points[k] + y * points[k + 1] + z * points[k + 2];
    if (reach > most) most = reach;
  }
  return most;
}

/**
 * Where an eye that looks along -`back` must be to see lists of points within a tangent on both sides along an axis: its place on that axis, and
 * how far it is away. Each side of the view is a plane that touches the outermost point; the eye is where the two planes meet. Directions are
 * three numbers, of length one.
 */
export function fit(lists, axis, back, tangent) {
  const side = (sign) => {
    const normal = axis.map((x, k) => sign * x + tangent * back[k]);
    return Math.max(...lists.map((points) => farthest(points, ...normal)));
  };
  const [most, least] = [side(1), -side(-1)];
  return { middle: 0.5 * (most + least), distance: (0.5 * (most - least)) / tangent };
}
