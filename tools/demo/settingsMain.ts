/**
 * The settings area of `docker compose up`. Unless the environment names who signs its sign-in links, it accepts those of
 * `signInCommand.ts`: it writes a new secret for them to the folder at each start.
 */
import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Command } from 'commander'
import { writePrivateJson } from './demoFile.ts'
import { signInEnvironment } from './signIn.ts'

const { folder } = new Command('settings')
  .requiredOption('--folder <path>', 'holds the secret of sign-in links')
  .allowExcessArguments(false)
  .parse()
  .opts<{ folder: string }>()
const demoFile = join(folder, 'demo.json')
const { SETTINGS_URL: settingsUrl = '', SIGN_IN_SECRET, SIGN_IN_JWKS_URL, SIGN_IN_ISSUER } = process.env
if (SIGN_IN_SECRET || SIGN_IN_JWKS_URL || SIGN_IN_ISSUER) {
  await rm(demoFile, { force: true })
} else {
  const signInSecret = randomBytes(32).toString('base64url')
  await writePrivateJson(demoFile, { settingsUrl, signInSecret })
  Object.assign(process.env, signInEnvironment(signInSecret))
}
await import('../../src/settings/main.ts')
