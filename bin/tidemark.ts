import { existsSync, readFileSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { commands, loadCommand, urlOf } from './commands.ts'

// Stored compiled code saves a third of the CPU time of a start. If the folder cannot be written, Node starts without it.
enableCompileCache(fileURLToPath(urlOf('var/compile-cache')))

const { version } = JSON.parse(readFileSync(urlOf('package.json'), 'utf8')) as { version: string }

const program = new Command('tidemark')
  .description('Read replica with search for quiz forms and submissions')
  .version(version)
  .addHelpText('after', '\nSettings: docs/configuration.md. Exit codes: docs/commands.md.')

process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
  // The reader, such as `head`, has closed the pipe. Then this process exits with the code that the command has set, or 0.
  if (code === 'EPIPE') process.exit()
  process.exit(1)
})

const [argument = '', helpTopic = ''] = process.argv.slice(2)
const requestedName = argument === 'help' ? helpTopic : argument
for (const entry of commands) {
  const { name, file, description } = entry
  // The container image lacks `tools` and `test`.
  if (!existsSync(urlOf(file))) continue
  // Only the requested command is loaded: loading `simulate`, for example, replaces the clock. `--help` shows name and description of the others.
  const command = name === requestedName ? await loadCommand(entry) : new Command(name).description(description)
  program.addCommand(command.version(version))
}
await program.parseAsync()
