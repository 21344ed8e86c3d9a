/**
 * Ends a command with exit code 78 when its Node is too old. The npm scripts preload it (`--require`): a Node that cannot load
 * TypeScript would only complain about a file extension. Itself it is run by any Node, so it is neither TypeScript nor an ES module.
 */
const { relative, resolve, sep } = require('node:path')

/** EX_CONFIG of sysexits.h. */
const configExitCode = 78
const root = resolve(__dirname, '../../..')

const [major, minor] = process.version.slice(1).split('.').map(Number)
const [room] = relative(root, resolve(process.argv[1] || '.')).split(sep)
const ships = room === 'src' || room === 'indexer'
// As `engines.node` in package.json. The tools and tests use syntax that came with 24.
const needed = ships ? '22.19 (of 22), or 24 and later' : '24 or later'
const suffices = major >= 24 || (ships && major === 22 && minor >= 19)

if (!suffices) {
  process.stderr.write(
    `Node ${needed} is needed; this is ${process.version} (${process.execPath}). ` +
      '`npm ci` brings one that the npm scripts use, unless development dependencies are left out (--omit=dev).\n',
  )
  process.exit(configExitCode)
}
