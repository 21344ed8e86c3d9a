import { execFile } from 'node:child_process'
import { cpSync, globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { commands } from '../../bin/commands.ts'
import { useFolder } from '../support/temporaryFolder.ts'

const folder = useFolder()

type Ended = { readonly code: number; readonly stdout: string; readonly stderr: string }

const run = (args: readonly string[], program = 'bin/tidemark', env = process.env): Promise<Ended> =>
  new Promise((done) => {
    execFile(program, args, { env }, (error, stdout, stderr) =>
      done({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    )
  })

const { version, scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  readonly version: string
  readonly scripts: Readonly<Record<string, string>>
}
const names: readonly string[] = commands.map(({ name }) => name)
const namesIn = (help: string): string[] =>
  [...help.slice(help.indexOf('Commands:')).matchAll(/^ {2}([a-z][a-z-]*)/gm)].flatMap(([, name = '']) =>
    name === 'help' ? [] : [name],
  )

/** Prints the help of each command, and of its sub-commands as `keys create`, from one process: each loads much. */
const printHelps = `
  import { Command } from 'commander'
  import { commands, loadCommand } from '${resolve('bin/commands.ts')}'
  const helps = {}
  const add = (path, command) => {
    helps[path] = ''
    command.configureOutput({ writeOut: (text) => { helps[path] += text } }).outputHelp()
    for (const sub of command.commands) add(path + ' ' + sub.name(), sub)
  }
  const program = new Command('tidemark')
  for (const entry of commands) program.addCommand(await loadCommand(entry))
  for (const command of program.commands) add(command.name(), command)
  process.stdout.write(JSON.stringify(helps), () => process.exit())`
let helps: ReadonlyMap<string, string>
beforeAll(async () => {
  const { stdout, stderr } = await run(['--input-type=module', '--eval', printHelps], process.execPath)
  expect(stderr).toBe('')
  helps = new Map(Object.entries(JSON.parse(stdout) as Record<string, string>))
}, 120_000)

test('the help names every command, in the order of the table', async () => {
  const { code, stdout } = await run(['--help'])
  expect([code, namesIn(stdout)]).toEqual([0, names])
})

test.each(commands)('the help of $name: usage, description, options, example', ({ name, description, example }) => {
  const help = helps.get(name) ?? ''
  expect(help).toMatch(new RegExp(`^Usage: tidemark ${name}\\b`))
  expect(help.replaceAll(/\s+/g, ' ')).toContain(description)
  expect(help).toContain('--help')
  expect(help.trimEnd()).toMatch(/\nExample: .+$/)
  expect(example).toMatch(new RegExp(`^([A-Z_]+=\\S+ )?tidemark ${name}( |$)`))
})

test('--help of a command prints its help', async () => {
  const { code, stdout } = await run(['keys', 'create', '--help'])
  expect([code, stdout]).toEqual([0, helps.get('keys create')])
})

test.each([[['--version']], [['demo', '--version']]])('tidemark %s prints the version', async (args) => {
  expect(await run(args)).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
})

test.each([
  [[], 1, 'Usage: tidemark '],
  [['burn'], 1, "unknown command 'burn'"],
  [['keys', 'create'], 1, "required option '--team <id>' not specified"],
  [['api', 'extra'], 1, 'too many arguments'],
  // 1 would say that there are differences.
  [['verify', '--burn'], 2, "unknown option '--burn'"],
])('tidemark %s is refused as wrong usage', async (args, code, why) => {
  expect(await run(args)).toEqual({ code, stdout: '', stderr: expect.stringContaining(why) })
})

test('the help of an image without tools does not list them, and engines come from a file if the environment has none', async () => {
  for (const part of ['bin', 'src', 'mappings', 'package.json']) cpSync(part, join(folder, part), { recursive: true })
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
  const program = join(folder, 'bin/tidemark')
  expect(namesIn((await run(['--help'], program)).stdout)).toEqual(['api', 'settings', 'keys', 'health'])
  expect(await run(['demo'], program)).toMatchObject({ code: 1, stderr: expect.stringContaining('unknown command') })
  mkdirSync(join(folder, 'var'))
  writeFileSync(join(folder, 'var/engines.env'), 'ELASTICSEARCH_URL=http://es:9200\nREDIS_URL=ftp://redis\n')
  // Beside tests on engines, the environment of a unit test names these engines.
  expect(await run(['api'], program, { PATH: process.env['PATH'] })).toEqual({
    code: 78,
    stdout: '',
    stderr: expect.stringMatching(/^REDIS_URL [^\n]+\n$/),
  })
  cpSync('indexer', join(folder, 'indexer'), { recursive: true })
  const erase = ['erase', '--team', 'a', '--submission', 's']
  const { stderr } = await run(erase, program, { PATH: process.env['PATH'] })
  expect(stderr.replace(/ .*/g, '')).toBe('REDIS_URL\nKAFKA_BROKERS\n')
})

test('npm runs the same program', () => {
  const inContainers = ['health', 'sample', 'sample-settings']
  for (const name of names.filter((each) => !inContainers.includes(each)))
    expect(scripts[name]).toBe(`exec bin/tidemark ${name}`)
})

/** What a text says of the program, and is not so. */
function wrongIn(text: string): string[] {
  const named =
    /(?:npm run|(?:`|^ *(?:\$ )?|bin\/|-- |compose (?:exec|run) [^`\n]*)tidemark) ([a-z][a-z:-]*)(?: --(?= ))?([^`\n#|]*)/gm
  return [...text.matchAll(named)].flatMap(([whole, name = '', rest = '']) => (isKnown(name, rest) ? [] : [whole]))
}

function isKnown(name: string, rest: string): boolean {
  if (!names.includes(name)) return name in scripts
  const [sub = ''] = rest.trim().split(/[\s,]/)
  const hasSubs = helps.get(name)?.includes('Commands:') ?? false
  const help = helps.get(hasSubs && /^[a-z]/.test(sub) ? `${name} ${sub}` : name)
  return help !== undefined && [...rest.matchAll(/(?<=\s)--[a-z][a-z-]*/g)].every(([option]) => help.includes(option))
}

test('the documentation names only commands and options that exist', () => {
  const pages = globSync(['*.md', '{docs,security,connectors,deploy}/**/*.md', 'docker-compose.yml'], {
    // The page of the nodes for n8n tells of that package's own scripts.
    exclude: ['CHANGELOG.md', 'connectors/n8n/README.md', '**/node_modules/**'],
  })
  expect(pages.length).toBeGreaterThan(30)
  expect(pages.flatMap((page) => wrongIn(readFileSync(page, 'utf8')).map((wrong) => `${page}: ${wrong}`))).toEqual([])
})
