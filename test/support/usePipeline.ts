import { late } from './late.ts'
import { openPipeline, type Pipeline } from './pipeline.ts'
import { killPrograms } from './programs.ts'

type Options = {
  /** Whether each test gets a new pipeline. */
  readonly forEachTest?: boolean
}

/**
 * A pipeline for all tests of a file or block. Afterwards, programs that still run are killed, indices are deleted and the
 * pipeline is closed; later hooks can still read its names.
 */
export function usePipeline({ forEachTest = false }: Options = {}): Pipeline {
  let opened: Pipeline | undefined
  const [before, after] = forEachTest ? [beforeEach, afterEach] : [beforeAll, afterAll]
  before(async () => {
    opened = await openPipeline()
  })
  after(async () => {
    killPrograms()
    await opened?.close()
  })
  return late('the pipeline', () => opened)
}
