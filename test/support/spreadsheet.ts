import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findOnPath } from '../../tools/engines/permissions.ts'
import { runSupervised } from '../../tools/engines/supervisedProgram.ts'

/** UTF-8, as LibreOffice names it. */
const utf8 = 76
const quote = 34
const deadlineMs = 120_000

const program = await findOnPath('soffice', process.env)

/** `describe` where LibreOffice is installed, and in CI, where its absence is a failure; else the tests are skipped, and this says so. */
export function describeSpreadsheet(): typeof describe | typeof describe.skip {
  if (program !== undefined || process.env['CI'] !== undefined) return describe
  process.stderr.write('soffice: skipped, it is not on PATH\n')
  return describe.skip
}

/** What LibreOffice makes of CSV. */
export type Sheet = {
  /** Its cells, written as CSV again: what is shown, so the value of a formula in place of the formula. */
  readonly shown: string
  /** How many formulas it has found. */
  readonly formulas: number
}

/** Opens CSV in LibreOffice, which separates cells at any of the separators, and stores it in two other formats. */
export async function openInSpreadsheet(csv: string, separators: string): Promise<Sheet> {
  if (program === undefined) throw new Error('there is no soffice: install Debian\'s package "libreoffice-calc-nogui"')
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-spreadsheet-'))
  try {
    await writeFile(join(folder, 'given.csv'), csv)
    const codes = [...separators].map((separator) => separator.charCodeAt(0)).join('/')
    const asShown = `csv:Text - txt - csv (StarCalc):44,${quote},${utf8},1,,0,true,true`
    for (const [format, out] of [
      [asShown, 'csv'],
      ['fods', 'fods'],
    ] as const)
      await convert(program, folder, `CSV:${codes},${quote},${utf8},1`, format, out)
    const document = await readFile(join(folder, 'fods', 'given.fods'), 'utf8')
    return {
      shown: await readFile(join(folder, 'csv', 'given.csv'), 'utf8'),
      formulas: document.split('table:formula=').length - 1,
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function convert(command: string, folder: string, filter: string, format: string, out: string): Promise<void> {
  const logPath = join(folder, 'said.log')
  const args = [
    ...['--headless', '--norestore', `-env:UserInstallation=file://${join(folder, 'profile')}`, `--infilter=${filter}`],
    ...['--convert-to', format, '--outdir', join(folder, out), join(folder, 'given.csv')],
  ]
  const env = { ...process.env, HOME: folder } as Record<string, string>
  const order = { command, args, cwd: folder, env }
  await runSupervised(order, { what: 'soffice', logPath, deadlineMs, signal: new AbortController().signal })
}
