/**
 * Names the required Node when an old one is used; that would only report an unknown file extension (`.ts`). `bin/tidemark` loads this file first. It is
 * CommonJS, so that every Node can run it.
 */

/** EX_CONFIG of sysexits.h. */
const configExitCode = 78

const [major, minor] = process.version.slice(1).split('.').map(Number)
// As `engines.node` in package.json.
const isSupported = major >= 24 || (major === 22 && minor >= 19)

if (!isSupported) {
  process.stderr.write(
    `Node 22.19 (of 22), or 24 and later is needed; this is ${process.version} (${process.execPath}). ` +
      '`npm ci` brings one, unless development dependencies are left out (--omit=dev).\n',
  )
  process.exit(configExitCode)
}
