import type { StartExport } from './exports.ts'
import type { ParameterReader } from './parameters.ts'
import type { IndexReader } from './search/indexReader.ts'

/** What every route is built from. */
export type RouteDeps = {
  readonly replica: IndexReader
  readonly readParameters: ParameterReader
  readonly startExport: StartExport
}
