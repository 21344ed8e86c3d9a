/** `npm run dashboards`: draws the results of the dashboards' queries to docs/dashboards, for a Tidemark that runs. */
import { mkdir, writeFile } from 'node:fs/promises'
import { Command } from 'commander'
import { readPanels } from './panels.ts'
import { renderPicture } from './picture.ts'

const folder = 'docs/dashboards'
const command = new Command('dashboards')
  .description(
    "Draws what the dashboards' queries return from a Tidemark that runs, beside a Prometheus that scrapes it.",
  )
  .requiredOption('--prometheus <url>', 'where Prometheus is')
  .requiredOption('--api <url>', 'where the API is, ending in /api/v1')
  .requiredOption('--key <key>', "a team's key")
  .option('--minutes <n>', 'how long a time the operators see, until now', '5')
  .option('--days <n>', 'how long a time the team sees, until now', '30')
  .allowExcessArguments(false)
const flags = command.parse().opts<Record<'prometheus' | 'api' | 'key' | 'minutes' | 'days', string>>()

const to = new Date()
const since = (ms: number): Date => new Date(to.getTime() - ms)
const spans = [
  ['operators', since(Number(flags.minutes) * 60_000)],
  ['team', since(Number(flags.days) * 86_400_000)],
] as const
await mkdir(folder, { recursive: true })
for (const [name, from] of spans) {
  const { title, panels } = await readPanels(name, { ...flags, from, to })
  await writeFile(`${folder}/${name}.svg`, renderPicture(title, panels))
  process.stdout.write(`${folder}/${name}.svg\n`)
}
