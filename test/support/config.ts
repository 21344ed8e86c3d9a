import { type Config, readConfig } from '../../src/core/config/config.ts'

/** The configuration of the engines under test, with `settings` on top. */
export function testConfig(settings: Readonly<Record<string, string>>): Config {
  const read = readConfig({ ...process.env, PORT: '0', ...settings }, ['ELASTICSEARCH_URL', 'REDIS_URL'])
  if (!read.ok) throw new Error(JSON.stringify(read.problems))
  return read.config
}
