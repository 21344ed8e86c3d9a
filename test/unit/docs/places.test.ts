import { globSync, readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { chartNames, jobs, processes } from '../../support/chartNames.ts'

const { services } = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }) as {
  readonly services: Readonly<Record<string, object>>
}

/** What a text tells to ask, and is not there. */
function wrongIn(text: string): string[] {
  const inCluster = [
    ...text.matchAll(/\b(deployment|cronjob|service)\/([\w-]+)|(app\.kubernetes\.io\/component=)(\w+)/g),
  ]
  const wrongNames = inCluster.filter(
    ([, kind = '', name = '', label = kind, component = name]) => !chartNames[label]?.includes(component),
  )
  const inCompose = [
    ...text.matchAll(/docker compose (?:exec|logs|restart|run|port)((?: --?[\w-]+(?: \d+)?)*) ([a-z][\w-]*)/g),
    ...text.matchAll(/docker compose up( .*?--scale) ([a-z]\w*)=\d/g),
  ]
  const wrongServices = inCompose.filter(([, , service = '']) => !(service in services))
  const ports = [...text.matchAll(/port-forward deployment\/\S+ (?:\d+:)?(\d+)/g)].filter(([, port]) => port !== '9100')
  return [...wrongNames, ...wrongServices, ...ports].map(([whole]) => whole)
}

const pages = globSync(['*.md', '{docs,security,deploy}/**/*.md'], { exclude: ['**/node_modules/**'] })

test('the test finds the names', () => {
  expect([processes, jobs]).toEqual([
    ['api', 'indexer', 'settings'],
    ['rebuild', 'verify'],
  ])
  const runbook = readFileSync('docs/runbook.md', 'utf8')
  for (const name of [...(chartNames['deployment'] ?? []), 'cronjob/tidemark-rebuild', 'docker compose exec indexer'])
    expect(runbook).toContain(name)
  expect(wrongIn('kubectl exec deployment/tidemark-reader; docker compose exec reader sh; component=api')).toHaveLength(
    2,
  )
  expect(wrongIn('kubectl logs -l app.kubernetes.io/component=reader')).toHaveLength(1)
})

test.each(pages)('%s names Deployments, Jobs, Services and ports that exist', (page) => {
  expect(wrongIn(readFileSync(page, 'utf8'))).toEqual([])
})

/** Each pair of "`name` in `file`", also of "`name` and `other` in `file`". */
const namesInFiles = [
  ...readFileSync('CONTRIBUTING.md', 'utf8').matchAll(/((?:`\w+`(?:, | and ))*`\w+`) in `([\w/.-]+\.ts)`/g),
].flatMap(([, names = '', file = '']) => [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => ({ name, file })))

test('CONTRIBUTING.md names functions that are in the files that it names', () => {
  expect(namesInFiles.length).toBeGreaterThan(10)
  const missing = namesInFiles.filter(({ name, file }) => !new RegExp(`\\b${name}\\b`).test(readFileSync(file, 'utf8')))
  expect(missing).toEqual([])
})
