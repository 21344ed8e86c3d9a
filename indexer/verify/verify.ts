import { Differences } from './difference.ts'
import { verifyAccountKeys } from './verifyAccountKeys.ts'
import { verifyDocuments } from './verifyDocuments.ts'
import type { VerifyOptions } from './verifyOptions.ts'

/** So many differences of each kind are named. */
const maxNamed = 1_000

export type Verdict = {
  readonly isEqual: boolean
  /** One line for each difference, then the result. */
  readonly lines: readonly string[]
}

/** Compares every document and every account key with the topics. Throws `NotJudged` when that is impossible. */
export async function verify(options: VerifyOptions): Promise<Verdict> {
  const differences = new Differences(maxNamed)
  const add = differences.add.bind(differences)
  const accountKeys = await verifyAccountKeys(options, add)
  const { documents, uncommitted } = await verifyDocuments(options, add)
  const { total } = differences
  const compared = `compared ${documents} documents and ${accountKeys} account keys`
  const rest = uncommitted === 0 ? '' : `; ${uncommitted} records were not committed yet`
  const result =
    total === 0 ? `equal; ${compared}${rest}` : `${total} differences (${differences.summary()}); ${compared}${rest}`
  return { isEqual: total === 0, lines: [...differences.lines(), result] }
}
