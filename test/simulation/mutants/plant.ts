import { registerHooks } from 'node:module'
import { type Mutant, mutants } from './mutants.ts'

let isPlanted = false

/** Throws if the mutant's file was loaded before `plantMutant`, and so without the fault. */
export function expectPlanted({ file }: Mutant): void {
  if (!isPlanted) throw new Error(`${file} was loaded before its mutant was planted`)
}

const root = new URL('../../../', import.meta.url)

/**
 * Plants a fault in the product: from now on, its file is loaded with `from` replaced by `to`. Throws unless `from` occurs exactly
 * once: then the source has changed, and the mutant must be adapted. Returns the mutant.
 */
export function plantMutant(name: string): Mutant {
  const mutant = mutants[name]
  if (mutant === undefined) throw new Error(`there is no mutant ${name}: ${Object.keys(mutants).join(', ')}`)
  const { file, from, to } = mutant
  registerHooks({
    load: (url, context, next) => {
      const loaded = next(url, context)
      if (url !== new URL(file, root).href) return loaded
      const pieces = String(loaded.source).split(from)
      if (pieces.length !== 2)
        throw new Error(`mutant ${name}: the text to replace is ${pieces.length - 1} times in ${file}`)
      isPlanted = true
      return { ...loaded, source: pieces.join(to) }
    },
  })
  return mutant
}
