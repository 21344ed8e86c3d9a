import { late } from './late.ts'
import { openPipeline, type Pipeline } from './pipeline.ts'
import { killPrograms } from './programs.ts'

type Options = {
  /** Opens another pipeline for each test. */
  readonly forEachTest?: boolean
}

/**
 * A pipeline for all tests of a file or block. Afterwards every program that still runs is killed, its indices are deleted
 * and it is closed; hooks that come later still find its names.
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
