import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { variableNames } from '../../../src/core/config/config.ts'
import { fileVariables } from '../../../src/core/config/secretFiles.ts'
import { beginsLikeOurs } from '../../../src/core/config/unknownNames.ts'
import { documentedMetrics } from '../../support/metrics.ts'

type Values = { readonly [key: string]: unknown }
type Schema = { readonly properties?: Readonly<Record<string, Schema>>; readonly $ref?: string }

const chart = 'deploy/helm/tidemark'
const textOf = (file: string): string => readFileSync(file, 'utf8')
const inChart = (file: string): string => textOf(join(chart, file))
const texts = globSync(`${chart}/{templates,files}/**/*.{yaml,tpl,txt,mjs}`).map(textOf).join('\n')
const schema = JSON.parse(inChart('values.schema.json')) as Schema & {
  readonly $defs: Readonly<Record<string, Schema>>
}
const variables = parse(inChart('files/variables.yaml')) as Readonly<Record<string, readonly string[]>>
const setByChart = ['PORT', 'ADMIN_PORT', 'DRAIN_MS', ...[...variableNames].filter((name) => name.endsWith('_FILE'))]
/** The address of a pod that it listens on is not chosen. */
const notOffered = ['HOST']

test.each([
  ['alerts.yml', 'deploy/alerts.yml'],
  ['dashboards/operators.json', 'deploy/grafana/operators.json'],
  ['dashboards/team.json', 'deploy/grafana/team.json'],
])('files/%s is a copy of %s', (copy, original) => {
  if (inChart(`files/${copy}`) !== textOf(original)) throw new Error(`cp ${original} ${chart}/files/${copy}`)
})

test('the chart has the version of the program', () => {
  const { version } = JSON.parse(textOf('package.json')) as { version: string }
  expect(parse(inChart('Chart.yaml'))).toMatchObject({ version, appVersion: version })
})

test('the chart has every variable of the program and no other, and sets each for the processes that read it', () => {
  expect([...Object.keys(variables), ...setByChart, ...notOffered].sort()).toEqual([...variableNames].sort())
  const rows = textOf('docs/configuration.md').matchAll(/^\| `(\w+)`(?: \*)? \| ([AIS ]+) \|/gm)
  const documented = new Map([...rows].map(([, name, letters]) => [name, letters]))
  const letterOf = (process: string): string => process.slice(0, 1).toUpperCase()
  for (const [name, processes] of Object.entries(variables))
    expect([name, processes.map(letterOf).join(' ')]).toEqual([name, documented.get(name)])
  const plain = Object.keys(schema.$defs['config']?.properties ?? {})
  const secret = Object.keys(schema.$defs['secrets']?.properties ?? {})
  expect([...new Set([...plain, ...secret])].sort()).toEqual(Object.keys(variables).sort())
  expect(plain.filter((name) => /PASSWORD|SECRET|API_KEY/.test(name))).toEqual([])
  // Each may be a file.
  expect(secret.sort()).toEqual([...fileVariables.values()].sort())
})

test('the chart names variables, metrics, paths and ports that exist', () => {
  const named = [...texts.matchAll(/\b[A-Z][A-Z_]{3,}\b/g)].map(([name]) => name).filter(beginsLikeOurs)
  expect(named.filter((name) => !variableNames.has(name) && !fileVariables.has(name))).toEqual([])
  const known = new Set((['A', 'I', 'S'] as const).flatMap(documentedMetrics).map(({ name }) => name))
  const [, ports] = /^EXPOSE (.+)$/m.exec(textOf('Dockerfile')) ?? []
  const metrics = [...texts.matchAll(/\btidemark_\w+/g)].map(([name]) => name)
  expect(metrics.filter((name) => !known.has(name))).toEqual([])
  expect(new Set([...texts.matchAll(/containerPort: (\d+)/g)].map(([, port]) => port))).toEqual(
    new Set(ports?.split(' ')),
  )
  const served = ['src/core/process/lifecycle.ts', 'indexer/indexer.ts', 'indexer/status/statusPage.ts']
    .map(textOf)
    .join()
  const paths = [...texts.matchAll(/\/(?:livez|readyz|metrics|status)\b/g)].map(([path]) => path)
  expect([...new Set(paths)].filter((path) => !served.includes(`'${path}'`))).toEqual([])
})

/** What only one of them names: values, and the properties of the schema behind them. */
function differences(values: Values, its: Schema, path = ''): string[] {
  const { properties } = schema.$defs[its.$ref?.replace('#/$defs/', '') ?? ''] ?? its
  if (properties === undefined) return []
  return [...new Set([...Object.keys(values), ...Object.keys(properties)])].flatMap((name) => {
    const [value, property] = [values[name], properties[name]]
    if (value === undefined || property === undefined) return [`${path}.${name}`]
    return typeof value === 'object' ? differences(value as Values, property, `${path}.${name}`) : []
  })
}

test('values and their schema have the same names', () => {
  const optional = /\.(global|initialDelaySeconds|image\.\w+|extra(Pod)?Spec\.\w+|(config|secrets)\.[A-Z_]+)$/
  const values = parse(inChart('values.yaml')) as Values
  expect(differences(values, schema).filter((path) => !optional.test(path))).toEqual([])
})
