import { type Random, seeded } from '../../support/random.ts'

/**
 * A source of randomness for one purpose. Every purpose has its own: what one part of a history draws does not change what another one
 * draws, so that a history from which events are left out stays similar.
 */
export const randomFor = (seed: number, purpose: string): Random => seeded(hashOf(`${seed} ${purpose}`))

/** FNV-1a, mixed once more, because purposes often differ in their last character only. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  return (hash ^ (hash >>> 13)) | 0
}
