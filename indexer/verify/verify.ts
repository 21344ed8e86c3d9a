import { constants, setPriority } from 'node:os'
import { Command } from 'commander'
import type { TeamId } from '../../src/core/model/ids.ts'
import { jsonLine, summaryOf } from '../../src/core/monitoring/log.ts'
import { readDeadLetter } from '../deadLetters/deadLetters.ts'
import { type CommandTools, readIdentifier, runEngineCommand } from '../engineCommand.ts'
import { documentTopics, entityTypeIn } from '../topics.ts'
import { CommittedTopics } from './committedTopics.ts'
import { verifyAccountKeys } from './compareAccountKeys.ts'
import { DocumentComparison } from './compareDocuments.ts'
import { DifferenceReport } from './differenceReport.ts'
import { readAgain, readIndices, readShareOfIndices } from './readIndices.ts'
import { readShare, type Share, wholeShare } from './share.ts'
import { reportUnlistedDetails } from './unlistedDetails.ts'
import { pausesAsLongAsItWorked, type VerifyContext } from './verifyContext.ts'

const exitCodes = { equal: 0, different: 1, notJudged: 2 }

export const command = new Command()
  .option('--team <id>', 'compares only what belongs to this team', readIdentifier<TeamId>)
  .option(
    '--share <share>',
    'compares only the partitions of one of several shares, as 0/8 to 7/8',
    readShare,
    wholeShare,
  )
  .option('--json', 'print one JSON object')
  .addHelpText('after', '\nExit code 0: equal. 1: with differences. 2: could not be judged.')
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : exitCodes.notJudged))
  .action(async ({ team, share, json }: { team?: TeamId; share: Share; json?: true }) => {
    // Node would exit with code 1, which means that there are differences.
    process.on('uncaughtException', (error) => {
      process.stderr.write(`verify: ${summaryOf(error)}\n`)
      process.exit(exitCodes.notJudged)
    })
    // Processes that serve requests get the processor first.
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
    const run = async (tools: CommandTools): Promise<void> => {
      const pauseAfterWork = pausesAsLongAsItWorked(tools.signal)
      const { lines, result } = await verify({ ...tools, team, share, pauseAfterWork })
      tools.report.end()
      process.stdout.write(json ? jsonLine(result) : lines.map((line) => `${line}\n`).join(''))
      process.exitCode = result.equal ? exitCodes.equal : exitCodes.different
    }
    await runEngineCommand('verify', run, exitCodes.notJudged)
  })

/**
 * Compares every document and every account key with the topics. Of several shares, each compares its partitions, and share 0 the account keys. `lines`: the
 * differences, then the result. `result`: for `--json`. Rejects if indices, commits or Redis are incomplete, or were replaced meanwhile.
 */
export async function verify(context: VerifyContext) {
  const differences = new DifferenceReport()
  const accountKeys = context.share.number === 0 ? await verifyAccountKeys(context, differences) : 0
  const { documents, records, uncommitted } = await verifyDocuments(context, differences)
  if (context.team !== undefined && context.share.count === 1 && documents + records + accountKeys === 0)
    throw new Error(`neither the topics nor the replica contain anything of the team ${context.team}`)
  const { isEqual, lines, summary, noted, counts, differences: listed } = differences.report()
  const lastLine = [
    `${summary}; compared ${documents} documents and ${accountKeys} account keys`,
    ...(noted === '' ? [] : [`noted: ${noted}`]),
    ...(uncommitted === 0 ? [] : [`${uncommitted} offsets were not committed yet`]),
  ]
  const result = { equal: isEqual, documents, accountKeys, uncommitted, counts, differences: listed }
  return { lines: [...lines, lastLine.join('; ')], result }
}

type DocumentCounts = {
  readonly documents: number
  readonly records: number
  readonly uncommitted: number
}

/**
 * A record that indexers have committed must be indexed; a later one need not be.
 * 1. Reads the committed records, then the documents, then the records that were appended meanwhile.
 * 2. Compares. Reads differing documents once more: a write may have been under way.
 * 3. If documents differed, reads the records that were appended meanwhile, and the dead letters. Reports what still differs.
 */
export async function verifyDocuments(context: VerifyContext, differences: DifferenceReport): Promise<DocumentCounts> {
  const { report, share, pauseAfterWork } = context
  const topics = await CommittedTopics.read(context)
  const { number, indices } = topics.generation
  report.step(`generation ${number} is compared with the topics; digests go to an unlinked temporary file`)
  const comparison = new DocumentComparison()
  try {
    await topics.readCommitted(comparison)
    if (share.count === 1) await readIndices(context, indices, comparison)
    else {
      await readShareOfIndices(context, indices, topics.partitionNumbers(), comparison)
      await reportUnlistedDetails(context, indices, differences)
    }
    await topics.readAppended('later records read', comparison)

    report.step('digests are compared')
    let isEqual = true
    for (const { kind, mismatches } of comparison.differences()) {
      if (mismatches.length > 0) isEqual = false
      const ids = mismatches.map(({ id }) => id)
      await readAgain(context, indices, kind, ids, comparison)
      await pauseAfterWork()
    }
    if (!isEqual) {
      await topics.readAppended('records appended meanwhile', comparison)
      await markDeadLetters(context, comparison)
      for (const { mismatches } of comparison.differences()) {
        for (const difference of mismatches) differences.add(difference)
        await pauseAfterWork()
      }
    }
    return {
      documents: comparison.count('documents'),
      records: comparison.count('records'),
      uncommitted: topics.uncommitted,
    }
  } finally {
    comparison.close()
    // Also after an error, since a change may be its cause.
    await topics.expectUnchanged()
  }
}

/**
 * Dead letters are not expected in the indices. They may fulfil the contract: Elasticsearch has rejected them, or had stored other content under their
 * revision.
 */
async function markDeadLetters(
  { config, source, pauseAfterWork, signal }: VerifyContext,
  comparison: DocumentComparison,
): Promise<void> {
  await source.readTopic({
    topic: config.TOPIC_DEAD_LETTERS,
    signal,
    onRecord: async (record) => {
      const { topic, partition, offset, key } = readDeadLetter(record)
      if (key !== null && documentTopics(config).includes(topic))
        comparison.markDeadLetter(entityTypeIn(topic, config), key.toString('latin1'), partition, offset)
      await pauseAfterWork()
    },
  })
}
