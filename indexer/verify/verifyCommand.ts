import { constants, setPriority } from 'node:os'
import { Command } from 'commander'
import type { TeamId } from '../../src/core/model/ids.ts'
import { jsonLine, summaryOf } from '../../src/core/process/log.ts'
import { readIdentifier, runEngineCommand } from '../engineCommand.ts'
import { verify } from './verify.ts'
import { restsAsLong } from './verifyContext.ts'

const exitCodes = { equal: 0, different: 1, notJudged: 2 }

export const command = new Command()
  .option('--team <id>', 'compares only what belongs to this team', readIdentifier<TeamId>)
  .option('--json', 'print one JSON object')
  .addHelpText('after', '\nExit code 0: equal. 1: with differences. 2: could not be judged.')
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : exitCodes.notJudged))
  .action(async ({ team, json }: { team?: TeamId; json?: true }) => {
    // Node's own exit code would say that there are differences.
    process.on('uncaughtException', (error) => {
      process.stderr.write(`verify: not judged: ${summaryOf(error)}\n`)
      process.exit(exitCodes.notJudged)
    })
    // Whatever serves goes first.
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
    const texts = { failed: 'verify: not judged: ', stopped: 'stopped' }
    await runEngineCommand('verify', { ...texts, failedCode: exitCodes.notJudged }, async (tools) => {
      const rest = restsAsLong(() => performance.now(), tools.signal)
      const { lines, result } = await verify({ ...tools, team, rest })
      tools.report.end()
      process.stdout.write(json ? jsonLine(result) : lines.map((line) => `${line}\n`).join(''))
      process.exitCode = result.equal ? exitCodes.equal : exitCodes.different
    })
  })
