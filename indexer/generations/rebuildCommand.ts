import { Command } from 'commander'
import { runEngineCommand } from '../engineCommand.ts'
import { rebuild } from './rebuild.ts'

export const command = new Command().action(async () => {
  const texts = { failed: 'rebuild: ', stopped: 'stopped; run it again to go on' }
  await runEngineCommand('rebuild', { ...texts, failedCode: 1 }, rebuild)
  // A pipeline that did not stop in time ends here.
  process.exit()
})
