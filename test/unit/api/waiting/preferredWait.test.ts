import { preferredWaitSeconds } from '../../../../src/api/waiting.ts'

test.each([
  ['wait=1', 1],
  ['wait=60', 60],
  ['Wait = 10', 10],
  ['wait="10"', 10],
  ['respond-async, wait=10', 10],
  ['wait=10; foo=bar, respond-async', 10],
  ['note="a, wait=5", wait=10', 10],
  ['note="a \\" wait=5", wait=10', 10],
  ['wait=10, wait=20', 10],
])('%s asks for a wait of %d s', (prefer, seconds) => {
  expect(preferredWaitSeconds(prefer)).toBe(seconds)
})

test.each([
  '',
  'respond-async',
  'wait',
  'wait=',
  'wait=0',
  'wait=61',
  'wait=1.5',
  'wait=-5',
  'wait=1e1',
  'wait=ten',
  'wait="10',
  'await=10',
  'wait-10=10',
  'note="wait=10"',
  'wait=0, wait=10',
])('%j asks for none that can be applied', (prefer) => {
  expect(preferredWaitSeconds(prefer)).toBeUndefined()
})

test('a long header costs little', () => {
  const beganMs = performance.now()
  for (const piece of ['"', ',', 'wait=', 'a"\\', '"",', '\\"', '\\'])
    preferredWaitSeconds(piece.repeat(16_384 / piece.length))
  expect(performance.now() - beganMs).toBeLessThan(1_000)
})
