import assert from 'node:assert/strict';
import test from 'node:test';
import { fit } from '../src/fit.js';
import { figure, quantity, stepSize, vector } from '../src/format.js';
import { decades, extent, History, ticks } from '../src/scale.js';

test('numbers have four digits', () => {
  for (const [value, text] of [[0, '0'], [1, '1'], [-0.5, '-0.5'], [1 / 60, '0.01667'], [123.456, '123.5'], [12345678, '1.23e7'], [1e-10, '1e-10'], [100, '100'], [NaN, 'not finite'], [null, '–']]) {
    assert.equal(figure(value), text);
  }
  assert.equal(vector([1, 1e-12, -2]), '1  0  -2');
});

test('numbers are read as people write them', () => {
  assert.equal(quantity('1/60'), 1 / 60);
  assert.equal(quantity(' 0.25 '), 0.25);
  for (const text of ['', '/', '1/', '1/0', '0/0', 'x', '1/2/3', 'Infinity']) assert.equal(quantity(text), null, text);
  assert.equal(stepSize(1 / 60), '1/60');
  assert.equal(stepSize(0.03), '0.03');
});

test('ticks are round and within', () => {
  assert.deepEqual(ticks(0.3, 9.7, 4), [5]);
  assert.deepEqual(ticks(-1, 1, 4), [-1, -0.5, 0, 0.5, 1]);
  for (const [low, high] of [[0, 0], [1, 0], [NaN, 1], [-Infinity, 1]]) assert.deepEqual(ticks(low, high), []);
  assert.deepEqual(decades(1e-6, 1, 3), [1e-6, 1e-4, 1e-2, 1]);
});

test('an axis shows all values', () => {
  const [low, high] = extent([1, 5, NaN, 3], false);
  assert.ok(low < 1 && high > 5);
  assert.deepEqual(extent([], false), [0, 1]);
  assert.deepEqual(extent([2, 2], false), [1.8, 2.2]);
  assert.deepEqual(extent([3e-10, 0, -1, 2e-7], true), [1e-10, 1e-6]);
});

test('a history forgets the oldest, and everything when time goes back', () => {
  const history = new History(100);
  for (let k = 0; k < 1000; k++) history.add(k, { k });
  assert.ok(history.times.length <= 125 && history.times.at(-1) === 999 && history.times.length === history.rows.length);
  history.add(999, { k: 'again' });
  assert.equal(history.rows.at(-1).k, 'again');
  history.add(5, { k: 5 });
  assert.deepEqual(history.times, [5]);
});

test('an eye that fits points sees all of them, and two touch opposite sides', () => {
  const lists = [[-1, 0.2, 3, 4, -0.5, -2, 0.5, 1, 0], [], [2, 2, 2, -3, -1, -4]];
  const points = lists.flat();
  const back = [0.48, 0.64, 0.6];
  for (const axis of [[0.8, -0.6, 0], [0.36, 0.48, -0.8]]) {
    for (const tangent of [0.3, 0.8]) {
      const { middle, distance } = fit(lists, axis, back, tangent);
      const along = (direction, k) => direction.reduce((sum, x, i) => sum + x * points[k + i], 0);
      const sides = [];
      for (let k = 0; k < points.length; k += 3) sides.push((along(axis, k) - middle) / (distance - along(back, k)) / tangent);
      assert.ok(Math.abs(Math.max(...sides) - 1) < 1e-9 && Math.abs(Math.min(...sides) + 1) < 1e-9, `${axis} ${tangent}: ${sides}`);
    }
  }
});
