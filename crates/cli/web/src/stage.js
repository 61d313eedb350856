// The room: renderer, camera, light, floor.

import {
  BoxGeometry, Color, DirectionalLight, HemisphereLight, PCFShadowMap, PerspectiveCamera, Scene, Vector3, WebGLRenderer,
} from 'three';
import { OrbitControls } from 'three/examples/jsm/controls/OrbitControls.js';
import { fit } from './fit.js';
import { Floor } from './floor.js';
import { copies } from './material.js';

const LIGHT_FROM = new Vector3(-0.45, -0.6, 1.1).normalize();
const LOOK_FROM = new Vector3(-0.62, -1, 0.42).normalize();
const THEMES = {
  light: { background: '#eef0f2', grid: '#9aa2aa', shadow: 0.22, sky: '#ffffff', ground: '#b8b2a6', hemisphere: 1.9, sun: 2.1 },
  dark: { background: '#16191d', grid: '#4b535d', shadow: 0.5, sky: '#dfe8f5', ground: '#2b2a28', hemisphere: 1.25, sun: 2.0 },
};

/** Room around what is looked at. */
const MARGIN = 1.12;

export class Stage {
  constructor(canvas) {
    this.canvas = canvas;
    this.renderer = new WebGLRenderer({ canvas, antialias: true });
    // asking for errors waits for the graphics card; tests ask
    this.renderer.debug.checkShaderErrors = location.search === '?check';
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = PCFShadowMap;
    this.scene = new Scene();
    this.camera = new PerspectiveCamera(40, 1, 0.01, 1000);
    this.camera.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = false;
    this.controls.addEventListener('change', () => { this.fitDepth(); this.dirty = true; });
    // what is to be seen as a whole, until somebody turns away from it
    this.whole = null;
    this.controls.addEventListener('start', () => { this.whole = null; });
    this.hemisphere = new HemisphereLight();
    this.hemisphere.position.set(0, 0, 1); // z is up
    this.sun = new DirectionalLight('#fff6e8');
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.set(2048, 2048);
    this.sun.shadow.bias = -0.0004;
    this.scene.add(this.hemisphere, this.sun, this.sun.target);
    this.floor = new Floor();
    this.scene.add(this.floor.object);
    this.radius = 1;
    this.center = new Vector3();
    this.dirty = true;
    this.setTheme('light');
    new ResizeObserver(() => this.resize()).observe(canvas.parentElement);
    this.resize();
    this.compile();
  }

  /** Programs of the graphics card take their time: they are made while the scene is on its way. */
  compile() {
    const first = copies(new BoxGeometry(1, 1, 1), 1);
    this.scene.add(first);
    this.renderer.compile(this.scene, this.camera);
    this.scene.remove(first);
    // kept as long as its program is, or that would be thrown away
    this.first = first;
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.canvas.parentElement;
    if (!width || !height) return;
    this.renderer.setPixelRatio(Math.min(2, window.devicePixelRatio || 1));
    this.renderer.setSize(width, height, false);
    const before = this.camera.aspect;
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
    this.keepInPicture(before);
    this.dirty = true;
  }

  /** The picture has become wider or narrower (a telephone is turned, a panel comes up): what was in it stays in it. */
  keepInPicture(before) {
    const { aspect, position } = this.camera;
    if (aspect === before) return;
    if (this.whole) { this.look(this.whole); return; }
    const { target } = this.controls;
    position.sub(target).multiplyScalar(Math.min(1, before) / Math.min(1, aspect)).add(target);
    this.controls.update();
  }

  setTheme(name) {
    this.theme = THEMES[name];
    const { background, grid, shadow, sky, ground, hemisphere, sun } = this.theme;
    this.scene.background = new Color(background);
    this.floor.setTheme(grid, shadow);
    this.hemisphere.color.set(sky);
    this.hemisphere.groundColor.set(ground);
    this.hemisphere.intensity = hemisphere;
    this.sun.intensity = sun;
    this.layFloor(this.floorHeight ?? 0);
    this.fitRoom();
  }

  layFloor(height) {
    this.floorHeight = height;
    this.floor.lay(this.center, this.radius, height);
    this.dirty = true;
  }

  /** What is very near is seen when the camera is brought there, and what is far away when it goes away. */
  fitDepth() {
    const distance = this.camera.position.distanceTo(this.controls.target);
    this.camera.near = Math.min(0.01 * this.radius, 0.05 * distance);
    this.camera.far = 80 * this.radius + Math.max(6 * this.radius, 1.6 * distance);
    this.camera.updateProjectionMatrix();
  }

  fitRoom() {
    this.fitDepth();
    const sun = this.sun.shadow.camera;
    this.sun.target.position.copy(this.center);
    this.sun.position.copy(LIGHT_FROM).multiplyScalar(6 * this.radius).add(this.center);
    [sun.left, sun.right, sun.bottom, sun.top] = [-1.6, 1.6, -1.6, 1.6].map((k) => k * this.radius);
    [sun.near, sun.far] = [0.5 * this.radius, 14 * this.radius];
    this.sun.shadow.normalBias = 0.002 * this.radius;
    sun.updateProjectionMatrix();
    this.dirty = true;
  }

  static sphere({ low, high }) {
    const center = low.clone().add(high).multiplyScalar(0.5);
    return { center, radius: Math.max(1e-3, 0.5 * high.distanceTo(low)) };
  }

  /** Shows a new scene, which is in a box, from where all points (lists of three numbers each) can be seen, and the floor below unless that is far away. */
  frameScene(box, floorHeight, lists) {
    const floor = Number.isFinite(floorHeight) ? floorHeight : box.low.z;
    if (box.low.z - floor < 4 * box.high.distanceTo(box.low)) box.low.z = Math.min(box.low.z, floor);
    const { center, radius } = Stage.sphere(box);
    this.center.copy(center);
    this.radius = radius;
    this.litFrom = null;
    // nobody gets lost in a body or beyond the floor
    [this.controls.minDistance, this.controls.maxDistance] = [0.004 * radius, 30 * radius];
    this.look([...lists, [center.x, center.y, box.low.z]]);
    this.layFloor(floor);
    this.fitRoom();
  }

  /** Goes so near that all points are just in the picture, as far from its left as from its right edge, and so upwards. */
  look(lists) {
    const across = new Vector3(0, 0, 1).cross(LOOK_FROM).normalize();
    const up = new Vector3().crossVectors(LOOK_FROM, across);
    const back = LOOK_FROM.toArray();
    const tangent = Math.tan((this.camera.fov * Math.PI) / 360) / MARGIN;
    const [aside, upward] = [fit(lists, across.toArray(), back, tangent * this.camera.aspect), fit(lists, up.toArray(), back, tangent)];
    const depth = this.center.dot(LOOK_FROM);
    const distance = Math.max(aside.distance - depth, upward.distance - depth, 1.2 * this.radius);
    this.controls.target.copy(LOOK_FROM).multiplyScalar(depth).addScaledVector(across, aside.middle).addScaledVector(up, upward.middle);
    this.camera.position.copy(this.controls.target).addScaledVector(LOOK_FROM, distance);
    this.controls.update();
    this.whole = lists;
  }

  /** Moves camera, light and floor grid along with something. */
  carry(shift) {
    this.whole = null;
    this.camera.position.add(shift);
    this.controls.target.add(shift);
    this.controls.update();
  }

  /** Keeps light, shadows and grid around a place that has moved far away. Their size stays, so that nothing jumps. */
  keepLit(place) {
    this.litFrom ??= place.clone();
    if (place.distanceTo(this.litFrom) < 0.4 * this.radius) return;
    this.center.add(place).sub(this.litFrom);
    this.litFrom.copy(place);
    this.layFloor(this.floorHeight);
    this.fitRoom();
  }

  render() {
    this.renderer.render(this.scene, this.camera);
    this.dirty = false;
  }

  screenshot(name) {
    this.render();
    this.canvas.toBlob((blob) => {
      if (!blob) return;
      const link = document.createElement('a');
      link.href = URL.createObjectURL(blob);
      link.download = `${name}.png`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    }, 'image/png');
  }
}
