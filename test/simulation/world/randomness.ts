import { type Random, seeded } from '../../support/random.ts'

/**
 * A source of randomness for one purpose. Draws for one purpose do not change those for others, so that a history stays similar when
 * events are left out.
 */
export const randomFor = (seed: number, purpose: string): Random => seeded(hashOf(`${seed} ${purpose}`))

/** FNV-1a with an additional mixing step, because purposes often differ only in their last character. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  return (hash ^ (hash >>> 13)) | 0
}
