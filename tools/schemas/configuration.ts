import { type Config, readConfig, variableNames } from '../../src/core/config/config.ts'
import { fileVariables } from '../../src/core/config/secretFiles.ts'

type Settings = Omit<Config, 'files'>

/** For defaults that are no single value of the schema. */
const defaults: Partial<Record<keyof Settings, string>> = {
  PORT: '3000 (A), 3001 (S)',
  HOST: 'all interfaces',
  BASE_URL: '`/api/v1`',
  ADMIN_PORT: '9101 (A), 9102 (I), 9103 (S)',
  ADMIN_HOST: '`127.0.0.1`; `0.0.0.0` in the image',
  ELASTICSEARCH_URL: '`var/engines.env`',
  KAFKA_BROKERS: '`var/engines.env`',
  REDIS_URL: '`var/engines.env`',
  MAX_RECORDS_PER_SECOND: 'no limit',
  SETTINGS_URL: '`http://127.0.0.1:<port>`',
}

const row = /^\| `(\w+)`(?: \*)? \| ([AIS ]+) \| [^|]* \|/gm

/**
 * `docs/configuration.md` with the defaults of the schema, and a star for each variable that may be given as a file. Throws unless the page has a row
 * for each variable, in the order of the schema.
 */
export function configurationPage(page: string): string {
  const read = readConfig({}, [])
  if (!read.ok) throw new Error('an empty environment is not valid')
  const { config } = read
  const described = [...page.matchAll(row)].map(([, name]) => name)
  if (described.join() !== [...variableNames].join())
    throw new Error(`docs/configuration.md describes ${described.join()}, the schema has ${[...variableNames].join()}`)
  return page.replace(row, (_, name: keyof Settings, of: string) => {
    const mark = fileVariables.has(`${name}_FILE`) ? ' *' : ''
    return `| \`${name}\`${mark} | ${of} | ${defaults[name] ?? shown(config[name])} |`
  })
}

const shown = (value: Settings[keyof Settings]): string =>
  value === undefined || (Array.isArray(value) && value.length === 0) ? '' : `\`${String(value)}\``
