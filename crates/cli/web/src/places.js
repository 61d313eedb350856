// Particles are numbered over all systems in frames; for the simulation they are a system and a place in it, which stays when another page
// makes particles.

/** System and place in it of a particle that is numbered over all systems; null if there is none. */
export function placeOf(systems, particle) {
  let first = 0;
  for (let system = 0; system < systems.length; system++) {
    if (particle < first + systems[system].count) return [system, particle - first];
    first += systems[system].count;
  }
  return null;
}

/** The number over all systems of a particle by its place; null if there is none. */
export function numberOf(systems, [system, particle]) {
  if (!(particle < systems[system]?.count)) return null;
  return systems.slice(0, system).reduce((sum, { count }) => sum + count, particle);
}

export const samePlace = (a, b) => a[0] === b[0] && a[1] === b[1];
