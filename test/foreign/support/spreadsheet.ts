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

/** A CSV file as LibreOffice opens it. */
export type Sheet = {
  /** The cells as shown (formulas as their values), saved as CSV. */
  readonly shown: string
  /** The number of formulas. */
  readonly formulas: number
}

/** LibreOffice, with one profile for a file or block; `separators`: every character that separates cells. */
export type Spreadsheet = {
  /** Opens CSV and saves it in two other formats. */
  open(csv: string, separators: string): Promise<Sheet>
  countFormulas(csv: string, separators: string): Promise<number>
}

const asShown = `csv:Text - txt - csv (StarCalc):44,${quote},${utf8},1,,0,true,true`

export function useSpreadsheet(): Spreadsheet {
  const folder = useFolder()
  /** The content of the file that LibreOffice saves. */
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
