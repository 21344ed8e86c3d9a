import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'

const run = (args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> =>
  new Promise((done) => {
    execFile('bin/tidemark', args, (error, stdout, stderr) =>
      done({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    )
  })

test.each(['keys', 'rebuild', 'verify', 'dead-letters'])(
  'tidemark %s is the command, and passes arguments on',
  async (name) => {
    expect(await run([name, '--help'])).toMatchObject({ code: 0, stdout: expect.stringContaining(`Usage: ${name}`) })
  },
)

test.each([[], ['burn']])('without a command of its own it says which there are', async (...args) => {
  expect(await run(args)).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('usage: tidemark api|'),
  })
})

test('npm runs the same program', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> }
  for (const name of ['api', 'indexer', 'settings', 'keys', 'rebuild', 'verify', 'dead-letters'])
    expect(scripts[name]).toBe(`exec bin/tidemark ${name}`)
})
