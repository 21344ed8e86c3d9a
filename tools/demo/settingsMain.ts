/**
 * The settings area of `docker compose up`. Where the environment does not say whose links it believes, it believes those of
 * `signInCommand.ts`, which finds their secret, another one at each start, in the same folder.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { Command } from 'commander'
import { removeDemoFile, writeDemoFile } from './demoFile.ts'
import { signInEnvironment } from './signIn.ts'

const { folder } = new Command('settings')
  .requiredOption('--folder <path>', 'keeps what signs owners in')
  .allowExcessArguments(false)
  .parse()
  .opts<{ folder: string }>()
const demoFile = join(folder, 'demo.json')
const { SETTINGS_URL: settingsUrl = '', SIGN_IN_SECRET, SIGN_IN_JWKS_URL, SIGN_IN_ISSUER } = process.env
if (SIGN_IN_SECRET || SIGN_IN_JWKS_URL || SIGN_IN_ISSUER) {
  await removeDemoFile(demoFile)
} else {
  const signInSecret = randomBytes(32).toString('base64url')
  await writeDemoFile(demoFile, { settingsUrl, signInSecret })
  Object.assign(process.env, signInEnvironment(signInSecret))
}
await import('../../src/settings/main.ts')
