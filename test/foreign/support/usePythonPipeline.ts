import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { late } from '../../support/late.ts'
import { openPipeline, type Pipeline } from '../../support/pipeline.ts'
import { killPrograms, type Program } from '../../support/programs.ts'
import { type PythonEnvironment, type PythonTools, pythonTools, pythonToolsDeadlineMs } from './python.ts'

export type PythonPipeline = {
  readonly pipeline: Pipeline
  readonly api: Program
  readonly tools: PythonTools
  /** The absolute path of a folder under `var` that is deleted at the end. */
  readonly folder: string
}

/** A pipeline with an indexer and an API, beside the Python tools of an environment that load from it or produce to it. */
export function usePythonPipeline(environment: PythonEnvironment = 'tools'): PythonPipeline {
  let opened: PythonPipeline | undefined
  let folder: string | undefined
  let pipeline: Pipeline | undefined
  beforeAll(async () => {
    await mkdir('var', { recursive: true })
    folder = resolve(await mkdtemp('var/test-python-'))
    const tools = await pythonTools(environment)
    pipeline = await openPipeline()
    await pipeline.startIndexer()
    opened = { pipeline, api: await pipeline.startApi(), tools, folder }
  }, pythonToolsDeadlineMs)
  afterAll(async () => {
    killPrograms()
    await pipeline?.close()
    if (folder !== undefined) await rm(folder, { recursive: true, force: true })
  })
  return late('the pipeline', () => opened)
}
