import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import type { SignInFile } from './demoFile.ts'
import { signInLink } from './signIn.ts'
import { teams } from './teams.ts'

export const command = new Command()
  .option('--team <id>', 'whose owner signs in (default: the first team)')
  .option('--folder <path>', 'the folder of the demo', fileURLToPath(new URL('../../var', import.meta.url)))
  .action(async ({ team, folder }: { team?: string; folder: string }) => {
    try {
      const file = await readFile(join(folder, 'demo.json'), 'utf8')
      const { settingsUrl, signInSecret } = JSON.parse(file) as SignInFile
      const teamId = team ?? teams[0]?.id ?? ''
      process.stdout.write(`${await signInLink({ settingsUrl, secret: signInSecret }, teamId, Date.now())}\n`)
    } catch {
      process.stderr.write(`No demo runs in ${folder}: npm run demo starts one\n`)
      process.exitCode = 1
    }
  })
