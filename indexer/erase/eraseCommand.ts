import { Command } from 'commander'
import { documentId, type EntityId, type TeamId } from '../../src/core/model/ids.ts'
import { jsonLine, printable } from '../../src/core/process/log.ts'
import { readIdentifier, runEngineCommand } from '../engineCommand.ts'
import { erase } from './erase.ts'
import { receiptLines } from './receipt.ts'

type Options = { readonly team: TeamId; readonly submission: EntityId; readonly json?: true }

export const command = new Command()
  .requiredOption('--team <id>', 'its team', readIdentifier<TeamId>)
  .requiredOption('--submission <id>', 'a submission that the product has deleted', readIdentifier<EntityId>)
  .option('--json', 'print one JSON object')
  .addHelpText('after', '\nExit code 0: nothing is left on disk. 1: something is, or it was not judged.')
  .action(async ({ team, submission, json }: Options) => {
    const texts = { failed: 'erase: ', stopped: 'stopped: run it again' }
    await runEngineCommand('erase', { ...texts, failedCode: 1 }, async (tools) => {
      const receipt = await erase(tools, documentId(team, submission))
      tools.report.end()
      const lines = receiptLines(receipt).map((line) => `${line.split('\t').map(printable).join('\t')}\n`)
      process.stdout.write(json ? jsonLine(receipt) : lines.join(''))
      process.exitCode = receipt.erased ? 0 : 1
    })
  })
