import { rawMembers } from '../../../../src/core/json/rawJson.ts'
import { renderServed } from '../../../../src/core/json/servedMembers.ts'

const raw = rawMembers('{"b": 1.50, "secret": 1, "in": {"y": {"z": "\\u00e9"}, "x": null, "secret": 2}, "none": null}')

test('what is named is served in that order, as it came; all else is not', () => {
  expect(renderServed([['in', ['x', ['y', ['z']]]], 'b'], raw)).toBe('{"in":{"x":null,"y":{"z":"\\u00e9"}},"b":1.50}')
})

test('what is missing is null, and so is an object of which only some would be served', () => {
  expect(renderServed(['a', ['none', ['x']], ['gone', ['x']]], raw)).toBe('{"a":null,"none":null,"gone":null}')
})

test('what was judged stands for what came, at the top alone', () => {
  const judged = new Map([
    ['b', '2'],
    ['x', '3'],
  ])
  expect(renderServed(['b', ['in', ['x']]], raw, judged)).toBe('{"b":2,"in":{"x":null}}')
})
