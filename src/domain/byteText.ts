import type { Branded } from './identifiers.ts'

/**
 * UTF-8 bytes as a string of one character for each. V8 slices and joins such strings without copying, finds and compares in
 * them at the speed of bytes, and turns them into a buffer by one copy, whatever the script; `length` counts bytes.
 */
export type ByteText = Branded<string, 'ByteText'>

export const byteTextOf = (bytes: Buffer): ByteText => bytes.toString('latin1') as ByteText

export const toBytes = (text: ByteText): Buffer => Buffer.from(text, 'latin1')
