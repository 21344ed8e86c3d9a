import fc from 'fast-check'
import { anyText, percentEncoded } from '../../support/anyText.ts'

test('an unpaired surrogate is encoded beside whole characters', () => {
  expect(percentEncoded('a é\ud800🎉\udc00')).toBe('a%20%C3%A9%ED%A0%80%F0%9F%8E%89%ED%B0%80')
})

test('whole characters are decoded again as they were', () => {
  fc.assert(
    fc.property(
      anyText.map((text) => text.toWellFormed()),
      (text) => {
        expect(decodeURIComponent(percentEncoded(text))).toBe(text)
      },
    ),
  )
})
