// What surfaces are made of. One kind of material for all of them: its program is compiled once, while the scene is still on its way.

import { Color, InstancedMesh, MeshLambertMaterial } from 'three';

/** Many copies of a geometry, each with its place and colour. */
export function copies(geometry, count, settings = {}) {
  const mesh = new InstancedMesh(geometry, new MeshLambertMaterial(settings), Math.max(1, count));
  // made here, so that all of them share one program
  mesh.setColorAt(0, new Color('#ffffff'));
  mesh.frustumCulled = false; // its copies are all over the scene
  mesh.receiveShadow = true;
  return mesh;
}

/** Gives all copies the same colour. */
export function tint(mesh, colour) {
  const same = new Color(colour);
  for (let k = 0; k < mesh.instanceMatrix.count; k++) mesh.setColorAt(k, same);
  return mesh;
}
