/** `npm run sizing`: writes what follows from the assumptions in docs/scale.md into that page. */
import { readFile, writeFile } from 'node:fs/promises'
import { Command } from 'commander'
import { withMeasured, withSizes } from './page.ts'

const path = new URL('../../../docs/scale.md', import.meta.url)
const [results] = new Command('sizing')
  .description('Writes what follows from the assumptions in docs/scale.md into that page.')
  .argument('[results]', 'results of `npm run bench -- scale`, whose values take the place of what was measured before')
  .parse().processedArgs as [string | undefined]

const page = await readFile(path, 'utf8')
const measured = results === undefined ? page : withMeasured(page, await readFile(results, 'utf8'))
await writeFile(path, withSizes(measured))
