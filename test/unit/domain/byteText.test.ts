import fc from 'fast-check'
import { type ByteText, byteTextOf, toBytes } from '../../../src/domain/byteText.ts'

test('texts joined as bytes are the bytes of the texts joined', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary' })), (parts) => {
      const joined = parts.map((part) => byteTextOf(Buffer.from(part))).join('') as ByteText
      expect(toBytes(joined)).toEqual(Buffer.from(parts.join('')))
      expect(joined).toHaveLength(toBytes(joined).length)
    }),
  )
})
