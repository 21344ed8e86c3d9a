/** `npm run sign-in`: another link to the settings area of the demo that runs now. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { readSignInFile } from './demoFile.ts'
import { signInLink } from './signIn.ts'
import { teams } from './teams.ts'

const command = new Command('sign-in')
  .description("Prints a link that signs in an owner of the running demo's first team, or of another one.")
  .option('--team <id>')
  .option('--folder <path>', 'the folder of the demo', fileURLToPath(new URL('../../var', import.meta.url)))

const { team, folder } = command.parse().opts<{ team?: string; folder: string }>()
try {
  const { settingsUrl, signInSecret } = await readSignInFile(join(folder, 'demo.json'))
  const teamId = team ?? teams[0]?.id ?? ''
  process.stdout.write(`${await signInLink({ settingsUrl, secret: signInSecret }, teamId, Date.now())}\n`)
} catch (error) {
  process.stderr.write(`No demo runs in ${folder}: ${(error as Error).message}\n`)
  process.exitCode = 1
}
