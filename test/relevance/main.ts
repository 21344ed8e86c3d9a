import { Command } from 'commander'
import { runInForeground } from '../../tools/engines/foreground.ts'
import { startOwnEngines } from '../support/ownEngines.ts'
import { readGroups } from '../support/titleRelevance/cases.ts'
import { areGood, figuresOf, thresholds } from '../support/titleRelevance/figures.ts'
import { judgeGroups } from '../support/titleRelevance/judge.ts'
import { renderReport } from '../support/titleRelevance/report.ts'

export const command = new Command().action(() =>
  runInForeground(async (stopped) => {
    const say = (line: string): boolean => process.stdout.write(`${line}\n`)
    const groups = readGroups()
    say('title-relevance: starting engines')
    const engines = await startOwnEngines()
    try {
      const judged = await judgeGroups(groups, stopped)
      for (const { name, verdicts } of judged) say(`\n${renderReport(name, verdicts)}`)
      const isGood = judged.every(({ verdicts }) => areGood(figuresOf(verdicts)))
      const { recall, precision } = thresholds
      say(`\ntitle-relevance: ${isGood ? 'reaches' : 'MISSES'} recall ${recall} and precision ${precision}`)
      process.exitCode = isGood ? 0 : 1
    } finally {
      await engines.stop()
    }
  }),
)
