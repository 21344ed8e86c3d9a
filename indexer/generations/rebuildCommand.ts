import { Command } from 'commander'
import { runEngineCommand } from '../engineCommand.ts'
import { rebuild } from './rebuild.ts'

export const command = new Command().action(async () => {
  const failed = { prefix: 'rebuild: ', code: 1, stopped: 'stopped; run it again to go on' }
  await runEngineCommand('rebuild', failed, async (tools) => {
    await rebuild(tools)
    return { output: '', code: 0 }
  })
  // A pipeline that did not stop in time ends here.
  process.exit()
})
