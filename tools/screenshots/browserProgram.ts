import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { executable, findOnPath } from '../engines/permissions.ts'
import { unpackOnce } from '../engines/unpackOnce.ts'

export type BrowserProgram = { readonly executablePath: string; readonly env: Readonly<Record<string, string>> }

type Machine = Pick<NodeJS.Process, 'platform' | 'arch' | 'env'>

/** Without `chromium-browser`: on Ubuntu it only prints what to install. */
const namesOnPath = ['chromium', 'google-chrome']
const chromeOfMacOs = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'
const machineOfPackage = 'linux-x64'
const unpackDeadlineMs = 120_000

/** The installed browser, else the one of the npm package, which is unpacked at its first use. */
export async function browserProgram({ platform, arch, env }: Machine): Promise<BrowserProgram> {
  for (const name of namesOnPath) {
    const executablePath = await findOnPath(name, env)
    if (executablePath !== undefined) return { executablePath, env: {} }
  }
  const machine = `${platform}-${arch}`
  if (machine === machineOfPackage) return unpackedBrowser()
  if (platform === 'darwin' && (await executable(chromeOfMacOs))) return { executablePath: chromeOfMacOs, env: {} }
  throw new Error(
    `There is no ${namesOnPath.join(' or ')} on PATH, and npm brings a browser for ${machineOfPackage} alone, not ` +
      `${machine}. Debian: apt-get install chromium; Ubuntu: snap install chromium; macOS: brew install google-chrome.`,
  )
}

async function unpackedBrowser(): Promise<BrowserProgram> {
  const { devDependencies } = JSON.parse(await readFile('package.json', 'utf8')) as {
    devDependencies: Record<string, string>
  }
  const home = await unpackOnce(
    resolve('var/browser'),
    `chromium-${devDependencies['@sparticuz/chromium']}`,
    unpackBrowser,
  )
  return {
    executablePath: join(home, 'chromium'),
    env: { LD_LIBRARY_PATH: join(home, 'al2023', 'lib'), FONTCONFIG_FILE: join(home, 'fonts.conf') },
  }
}

/** The package unpacks into the temporary folder of its process, and unpacks its libraries only in an environment like AWS Lambda's. */
async function unpackBrowser(draft: string): Promise<string> {
  const home = join(draft, 'home')
  await mkdir(home)
  const script = "import chromium from '@sparticuz/chromium'; await chromium.executablePath()"
  await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    env: { TMPDIR: home, AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x' },
    timeout: unpackDeadlineMs,
  })
  await writeFile(join(home, 'fonts.conf'), fonts)
  return home
}

/** In place of the package's, which has folders of AWS Lambda. Fonts of the machine come first. */
const fonts = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <dir prefix="relative">fonts</dir>
</fontconfig>
`
