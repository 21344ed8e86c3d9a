import { useStarted } from './late.ts'
import { openPipeline, type Pipeline } from './pipeline.ts'

/** A pipeline for all tests of a file or block, or a new one for each. Later hooks can still read its names. */
export const usePipeline = (options: { readonly forEachTest?: boolean } = {}): Pipeline =>
  useStarted('the pipeline', openPipeline, options)
