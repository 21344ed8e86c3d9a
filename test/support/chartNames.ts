import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const templates = 'deploy/helm/tidemark/templates'
const template = (file: string): string => readFileSync(join(templates, file), 'utf8')
const [, processList = ''] = /ternary \(list ([^)]+)\) \(list/.exec(template('_helpers.tpl')) ?? []
export const processes = [...processList.matchAll(/"(\w+)"/g)].map(([, name = '']) => name)
export const jobs = [...template('jobs.yaml').matchAll(/"component" "(\w+)"/g)].map(([, name = '']) => name)

/** The names of a release `tidemark` that pages may use, by the kind as `kubectl` takes it. */
export const chartNames: Readonly<Record<string, readonly string[]>> = {
  deployment: processes.map((name) => `tidemark-${name}`),
  cronjob: jobs.map((name) => `tidemark-${name}`),
  service: processes.flatMap((name) => [`tidemark-${name}-admin`, ...(name === 'indexer' ? [] : [`tidemark-${name}`])]),
  'app.kubernetes.io/component=': processes,
}
