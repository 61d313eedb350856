// Pure arithmetic of the camera.

/**
 * Where an eye must be to see points (aside, up, towards the eye, one after the other) within a tangent on both sides along one axis: its place
 * on that axis, and how far it is away. Each side of the view is a line that touches the outermost point; the eye is where the two lines meet.
 */
export function fit(points, axis, tangent) {
  let [most, least] = [-Infinity, Infinity];
  for (let k = 0; k + 2 < points.length; k += 3) {
    most = Math.max(most, points[k + axis] + tangent * points[k + 2]);
    least = Math.min(least, points[k + axis] - tangent * points[k + 2]);
  }
  return { middle: 0.5 * (most + least), distance: (0.5 * (most - least)) / tangent };
}
