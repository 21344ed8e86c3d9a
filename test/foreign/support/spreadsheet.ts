import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findOnPath } from '../../../tools/engines/permissions.ts'
import { runSupervised } from '../../../tools/engines/supervisedProgram.ts'
import { useFolder } from '../../support/temporaryFolder.ts'
import { describeWith } from './describeWith.ts'

/** UTF-8, as LibreOffice names it. */
const utf8 = 76
const quote = 34
const deadlineMs = 120_000

const program = await findOnPath('soffice', process.env)

export const describeSpreadsheet = describeWith('libreoffice', program !== undefined)

/** What LibreOffice makes of CSV. */
export type Sheet = {
  /** Its cells, written as CSV again: what is shown, so the value of a formula in place of the formula. */
  readonly shown: string
  /** How many formulas it has found. */
  readonly formulas: number
}

/** LibreOffice, with a profile that is made once for a file or block. Each opening separates cells at any of `separators`. */
export type Spreadsheet = {
  /** Opens CSV and stores it in two other formats. */
  open(csv: string, separators: string): Promise<Sheet>
  countFormulas(csv: string, separators: string): Promise<number>
}

const asShown = `csv:Text - txt - csv (StarCalc):44,${quote},${utf8},1,,0,true,true`

export function useSpreadsheet(): Spreadsheet {
  const folder = useFolder()
  /** The content of the file that LibreOffice stores. */
  const convert = async (csv: string, separators: string, format: string, extension: string): Promise<string> => {
    await writeFile(join(folder, 'given.csv'), csv)
    const codes = [...separators].map((separator) => separator.charCodeAt(0)).join('/')
    await runConversion(folder, `CSV:${codes},${quote},${utf8},1`, format)
    return await readFile(join(folder, 'out', `given.${extension}`), 'utf8')
  }
  const countFormulas: Spreadsheet['countFormulas'] = async (csv, separators) =>
    (await convert(csv, separators, 'fods', 'fods')).split('table:formula=').length - 1
  return {
    open: async (csv, separators) => ({
      shown: await convert(csv, separators, asShown, 'csv'),
      formulas: await countFormulas(csv, separators),
    }),
    countFormulas,
  }
}

async function runConversion(folder: string, filter: string, format: string): Promise<void> {
  if (program === undefined) throw new Error('there is no soffice: install Debian\'s package "libreoffice-calc-nogui"')
  const args = [
    ...['--headless', '--norestore', `-env:UserInstallation=file://${join(folder, 'profile')}`, `--infilter=${filter}`],
    ...['--convert-to', format, '--outdir', join(folder, 'out'), join(folder, 'given.csv')],
  ]
  const env = { ...process.env, HOME: folder } as Record<string, string>
  const order = { command: program, args, cwd: folder, env }
  const logPath = join(folder, 'said.log')
  await runSupervised(order, { what: 'soffice', logPath, deadlineMs, signal: new AbortController().signal })
}
