import fc from 'fast-check'
import type { ApiContext } from '../../../src/api/context.ts'
import { normalizeRequest } from '../../../src/api/routes.ts'

function normalized(target: string): string {
  const req = { headers: {}, url: target }
  void normalizeRequest({ req } as unknown as ApiContext, async () => undefined)
  return req.url
}

test.each([
  ['/api/v1/forms?limit=1', '/api/v1/forms?limit=1'],
  ['http://example.com/api/v1/forms?limit=1', '/api/v1/forms?limit=1'],
  ['HTTPS://user@example.com:443/forms', '/forms'],
  ['http://[::/forms', '/forms'],
  ['http://example.com', '/'],
  ['http://example.com?limit=1', '/?limit=1'],
  ['/forms#part?limit=1', '/forms'],
  ['*', '/'],
  ['example.com:443', '/'],
  ['', '/'],
  ['//example.com/forms', '//example.com/forms'],
])('the request target %s becomes %s', (target, expected) => {
  expect(normalized(target)).toBe(expected)
})

test('a request target always begins with a slash and has no fragment', () => {
  fc.assert(fc.property(fc.webUrl({ withFragments: true, withQueryParameters: true }), expectOriginForm))
  fc.assert(fc.property(fc.string(), expectOriginForm))
})

const expectOriginForm = (target: string): void => {
  expect(normalized(target)).toMatch(/^\/[^#]*$/)
}
