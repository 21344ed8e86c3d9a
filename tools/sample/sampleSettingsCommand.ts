import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Command } from 'commander'
import { command as settings } from '../../src/settings/startSettings.ts'
import { writePrivateJson } from './demoFile.ts'
import { signInEnvironment } from './signIn.ts'

/** Unless the environment configures the issuer of sign-in links, each start writes a new secret for `tidemark sign-in`. */
export const command = new Command()
  .requiredOption('--folder <path>', 'holds the secret of sign-in links')
  .action(async ({ folder }: { folder: string }) => {
    const demoFile = join(folder, 'demo.json')
    const { SETTINGS_URL: settingsUrl = '', SIGN_IN_SECRET, SIGN_IN_JWKS_URL, SIGN_IN_ISSUER } = process.env
    if (SIGN_IN_SECRET || SIGN_IN_JWKS_URL || SIGN_IN_ISSUER) {
      await rm(demoFile, { force: true })
    } else {
      const signInSecret = randomBytes(32).toString('base64url')
      await writePrivateJson(demoFile, { settingsUrl, signInSecret })
      Object.assign(process.env, signInEnvironment(signInSecret))
    }
    await settings.parseAsync([], { from: 'user' })
  })
