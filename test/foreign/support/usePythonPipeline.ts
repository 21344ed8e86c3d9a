import { useStarted } from '../../support/lifecycle.ts'
import { type Pipeline, usePipeline } from '../../support/pipeline.ts'
import type { Program } from '../../support/programs.ts'
import { type PythonEnvironment, type PythonTools, usePython } from './python.ts'

type PythonPipeline = { readonly tools: PythonTools; readonly pipeline: Pipeline; readonly api: Program }

/** A pipeline with an indexer and an API, and Python tools that load from it or produce to it. */
export function usePythonPipeline(environment: PythonEnvironment = 'tools'): PythonPipeline {
  const tools = usePython(environment)
  const pipeline = usePipeline()
  beforeAll(() => pipeline.startIndexer())
  return { tools, pipeline, api: useStarted('the API', () => pipeline.startApi()) }
}
