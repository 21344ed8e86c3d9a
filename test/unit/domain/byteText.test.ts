import fc from 'fast-check'
import { byteTextOf, toBytes, toByteText, toText } from '../../../src/domain/byteText.ts'

const text = fc.string({ unit: 'binary' })

test('text comes back from its bytes as it was, and counts them', () => {
  fc.assert(
    fc.property(text, (given) => {
      const bytes = Buffer.from(given)
      expect(toByteText(given)).toHaveLength(bytes.length)
      expect(toBytes(toByteText(given))).toEqual(bytes)
      expect(byteTextOf(bytes)).toBe(toByteText(given))
      expect(toText(toByteText(given))).toBe(given)
    }),
  )
})

test('texts joined as bytes are the bytes of the texts joined', () => {
  fc.assert(
    fc.property(fc.array(text), (parts) => {
      expect(toBytes(byteTextOf(Buffer.from(parts.map(toByteText).join(''), 'latin1')))).toEqual(
        Buffer.from(parts.join('')),
      )
    }),
  )
})
