import fc from 'fast-check'
import { renderIgnored } from '../../../src/api/ignoredParameters.ts'

const anyName = fc.string({ unit: 'binary', maxLength: 400 }).map((text) => text.toWellFormed())

describe('renderIgnored', () => {
  test('names the first ten that fit', () => {
    expect(renderIgnored(['Limit'])).toBe('Limit')
    expect(renderIgnored(['a b', 'é', ','])).toBe('a%20b, %C3%A9, %2C')
    expect(renderIgnored(Array.from({ length: 11 }, () => 'x'))).toBe('x, x, x, x, x, x, x, x, x, x')
  })

  test('is ASCII of at most 256 bytes and 10 names, each a beginning of what was sent', () => {
    fc.assert(
      fc.property(fc.array(anyName, { minLength: 1, maxLength: 15 }), (names) => {
        const value = renderIgnored(names)
        expect(value).toMatch(/^[\x20-\x7e]{0,256}$/)
        const shown = value.split(', ').map(decodeURIComponent)
        expect(shown.length).toBeLessThanOrEqual(10)
        expect(shown.every((name, at) => names[at]?.startsWith(name))).toBe(true)
      }),
    )
  })
})
