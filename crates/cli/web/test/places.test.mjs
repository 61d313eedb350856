import assert from 'node:assert/strict';
import test from 'node:test';
import { numberOf, placeOf, samePlace } from '../src/places.js';

test('numbers over all systems and places in them are the same particles', () => {
  const systems = [{ count: 3 }, { count: 0 }, { count: 2 }];
  assert.deepEqual([0, 2, 3, 4, 5].map((number) => placeOf(systems, number)), [[0, 0], [0, 2], [2, 0], [2, 1], null]);
  for (const number of [0, 1, 2, 3, 4]) assert.equal(numberOf(systems, placeOf(systems, number)), number);
  for (const place of [[0, 3], [1, 0], [2, 2], [3, 0]]) assert.equal(numberOf(systems, place), null);
  // another page makes a particle in the first system: the place stays, the number does not
  const grown = [{ count: 4 }, { count: 0 }, { count: 2 }];
  assert.equal(numberOf(grown, placeOf(systems, 3)), 4);
  assert.ok(samePlace([2, 0], [2, 0]) && !samePlace([2, 0], [0, 2]));
});
