import { Differences } from './difference.ts'
import { verifyAccountKeys } from './verifyAccountKeys.ts'
import { verifyDocuments } from './verifyDocuments.ts'
import { NotJudged, type VerifyOptions } from './verifyOptions.ts'

/** So many differences of each kind are named. */
const maxNamed = 1_000

export type Verdict = {
  readonly isEqual: boolean
  /** One line for each difference and note, then the result. */
  readonly lines: readonly string[]
}

/** Compares every document and every account key with the topics. Throws `NotJudged` when that is impossible. */
export async function verify(options: VerifyOptions): Promise<Verdict> {
  const differences = new Differences(maxNamed)
  const add = differences.add.bind(differences)
  const accountKeys = await verifyAccountKeys(options, add)
  const { documents, records, uncommitted } = await verifyDocuments(options, add)
  if (options.team !== undefined && documents + records + accountKeys === 0)
    throw new NotJudged(`neither the topics nor the replica hold anything of the team ${options.team}`)
  const { total } = differences
  const compared = `compared ${documents} documents and ${accountKeys} account keys`
  const noted = differences.noted()
  const notes = noted === '' ? '' : `; noted: ${noted}`
  const rest = uncommitted === 0 ? notes : `${notes}; ${uncommitted} records were not committed yet`
  const result =
    total === 0 ? `equal; ${compared}${rest}` : `${total} differences (${differences.summary()}); ${compared}${rest}`
  return { isEqual: total === 0, lines: [...differences.lines(), result] }
}
