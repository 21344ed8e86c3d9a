import { globSync } from 'node:fs'
import { type ImagePin, nameOf } from './imagePins.ts'

/** Their versions must agree in a release. */
type ReleaseFiles = {
  readonly version: string
  readonly lockedVersion: string
  readonly changelog: string
  readonly dockerfile: string
  /** Of the Airbyte source. */
  readonly airbyteDockerfile: string
  readonly compose: string
  readonly pins: readonly ImagePin[]
  /** By path: `packageFiles`. */
  readonly packages: ReadonlyMap<string, string>
}

/** The Python client sends its version to the API from here. */
const userAgentFile = 'clients/python/src/tidemark_client/_connection.py'

/** Files below `root` that contain the version of a client or connector. */
export const packageFiles = (root: string): string[] =>
  [
    userAgentFile,
    ...globSync('{clients,connectors}/*/{package,package-lock,pyproject}.{json,toml}', { cwd: root }),
  ].sort()

/** A sentence for each thing to do before this state can be released. */
export function releaseProblems(files: ReleaseFiles): string[] {
  const { version, pins, dockerfile, airbyteDockerfile, compose, packages } = files
  const escaped = version.replaceAll('.', '\\.')
  const unpinned = pins.filter(({ reference }) => reference.digest === undefined).map(({ variable }) => variable)
  return [
    ...(files.lockedVersion === version
      ? []
      : [`package-lock.json has version ${files.lockedVersion}, not ${version}`]),
    ...(dockerfile.includes(`ARG VERSION=${version}\n`) ? [] : [`the Dockerfile's VERSION is not ${version}`]),
    ...(new RegExp(`^## \\[${escaped}\\] - \\d{4}-\\d\\d-\\d\\d$`, 'm').test(files.changelog)
      ? []
      : [`CHANGELOG.md has no section "## [${version}] - <date>"`]),
    ...[...packages].flatMap(([path, text]) => otherVersions(path, text, version)),
    ...pins.flatMap((pin) => otherDefaults(pin, [dockerfile, airbyteDockerfile, compose].join('\n'))),
    ...(unpinned.length === 0
      ? []
      : [`deploy/images.env has no digest for ${unpinned.join(', ')}: pin-images writes them`]),
  ]
}

/** Lock files contain the version twice, before those of dependencies. */
function otherVersions(path: string, text: string, version: string): string[] {
  const named = [...text.matchAll(/^\s*"?version"? ?[:=] ?"([^"]+)"/gim)].map(([, stated = '']) => stated)
  const own = named.slice(0, path.endsWith('package-lock.json') ? 2 : 1)
  const wrong = own.filter((stated) => stated !== version)
  if (own.length === 0) return [`${path} names no version`]
  return wrong.map((stated) => `${path} has version ${stated}, not ${version}`)
}

/** Users of the Dockerfiles and of the Compose file must get the pinned images by default. */
function otherDefaults({ variable, reference }: ImagePin, text: string): string[] {
  const used = [...text.matchAll(new RegExp(`(?:ARG ${variable}=|\\$\\{${variable}:-)([^\\s}]+)`, 'g'))]
  const wrong = used.map(([, image = '']) => image).filter((image) => image !== nameOf(reference))
  if (used.length === 0) return [`${variable} of deploy/images.env is used nowhere`]
  return wrong.map((image) => `${variable} is ${nameOf(reference)} in deploy/images.env, but ${image} by default`)
}
