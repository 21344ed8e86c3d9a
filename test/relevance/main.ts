/** `npm run title-relevance`: how well forms are found by title, on real engines of its own. */
import { startOwnEngines } from '../support/ownEngines.ts'
import { areGood, figuresOf, thresholds } from '../support/titleRelevance/figures.ts'
import { readGroups } from '../support/titleRelevance/groups.ts'
import { judgeGroups } from '../support/titleRelevance/judge.ts'
import { renderReport } from '../support/titleRelevance/report.ts'

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => stop.abort(new Error(`ended by ${signal}`)))

const say = (line: string): void => {
  process.stdout.write(`${line}\n`)
}

async function areAllGood(): Promise<boolean> {
  const groups = readGroups()
  say('title-relevance: starting engines')
  const engines = await startOwnEngines()
  try {
    const judged = await judgeGroups(groups, stop.signal)
    for (const { name, verdicts } of judged) say(`\n${renderReport(name, verdicts)}`)
    return judged.every(({ verdicts }) => areGood(figuresOf(verdicts)))
  } finally {
    await engines.stop()
  }
}

try {
  const isGood = await areAllGood()
  const { recall, precision } = thresholds
  say(`\ntitle-relevance: ${isGood ? 'reaches' : 'MISSES'} recall ${recall} and precision ${precision}`)
  process.exitCode = isGood ? 0 : 1
} catch (error) {
  process.stderr.write(`title-relevance: ${(error as Error).message}\n`)
  process.exitCode = 1
}
