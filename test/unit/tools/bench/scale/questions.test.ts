import { deepPagesOf, requestsOf } from '../../../../../tools/bench/scale/questions.ts'
import { fixedTeam } from '../../../../../tools/bench/scale/world.ts'

test('deep pages begin at row 1,000 or later and end with the list', () => {
  const pages = deepPagesOf(2_000)
  expect(pages.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, index) => 51 + index))
  const many = deepPagesOf(250_000)
  expect(many).toHaveLength(400)
  expect(Math.min(...many)).toBeGreaterThan(50)
  expect(Math.max(...many)).toBeLessThanOrEqual(12_500)
})

test('a question is asked with the key, and says what it wants', () => {
  const [window] = requestsOf('window', fixedTeam, { submissions: 10_000 }, 'a-key')
  expect(window).toMatchObject({
    path: '/api/v1/records?limit=20&changedSince=2025-12-29T00%3A00%3A00.000Z',
    headers: { authorization: 'Bearer a-key' },
    expectedStatus: 200,
  })
})
