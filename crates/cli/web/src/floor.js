// The floor: shadows, and a grid that fades out. Drawn by a shader, so that lines are even near and far.

import { Color, Group, Mesh, PlaneGeometry, ShaderMaterial, ShadowMaterial } from 'three';

const VERTEX = `
varying vec2 place;
void main() {
  vec4 world = modelMatrix * vec4(position, 1.0);
  place = world.xy;
  gl_Position = projectionMatrix * viewMatrix * world;
}`;
const FRAGMENT = `
uniform vec3 colour;
uniform vec2 middle;
uniform float cell, reach;
varying vec2 place;
float lines(float size) {
  vec2 cells = place / size;
  vec2 width = fwidth(cells);
  vec2 away = abs(fract(cells - 0.5) - 0.5) / width;
  // lines closer together than pixels would only flicker
  vec2 shown = (1.0 - min(away, 1.0)) * (1.0 - smoothstep(0.15, 0.5, width));
  return max(shown.x, shown.y);
}
void main() {
  float fade = 1.0 - smoothstep(0.25, 1.0, distance(place, middle) / reach);
  float alpha = max(0.55 * lines(cell), lines(5.0 * cell)) * fade;
  if (alpha < 0.01) discard;
  gl_FragColor = vec4(colour, alpha);
  #include <colorspace_fragment>
}`;

export class Floor {
  constructor() {
    this.shadows = new Mesh(new PlaneGeometry(1, 1), new ShadowMaterial({ depthWrite: false }));
    this.shadows.receiveShadow = true;
    this.shadows.renderOrder = -2;
    this.uniforms = { colour: { value: new Color() }, middle: { value: [0, 0] }, cell: { value: 1 }, reach: { value: 1 } };
    const material = new ShaderMaterial({ uniforms: this.uniforms, vertexShader: VERTEX, fragmentShader: FRAGMENT, transparent: true, depthWrite: false });
    this.grid = new Mesh(new PlaneGeometry(1, 1), material);
    this.grid.renderOrder = -1;
    this.object = new Group();
    this.object.add(this.shadows, this.grid);
  }

  setTheme(colour, shadow) {
    this.uniforms.colour.value.set(colour);
    this.shadows.material.opacity = shadow;
  }

  /** Around a point of the scene, at a height, with a round distance between lines. */
  lay(center, radius, height) {
    const wanted = radius / 4;
    const power = 10 ** Math.floor(Math.log10(wanted));
    this.uniforms.cell.value = [1, 2, 5, 10].map((m) => m * power).find((c) => c >= wanted) ?? wanted;
    this.uniforms.middle.value = [center.x, center.y];
    this.uniforms.reach.value = 12 * radius;
    this.object.position.set(center.x, center.y, height);
    this.object.scale.set(26 * radius, 26 * radius, 1);
  }
}
