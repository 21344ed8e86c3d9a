import { type ImagePin, nameOf } from './imagePins.ts'

/** The contents of the files whose versions must agree in a release. */
type ReleaseFiles = {
  readonly version: string
  readonly lockedVersion: string
  readonly changelog: string
  readonly dockerfile: string
  readonly compose: string
  readonly pins: readonly ImagePin[]
}

/** A sentence for each thing to do before this state can be released. */
export function releaseProblems(files: ReleaseFiles): string[] {
  const { version, pins, dockerfile, compose } = files
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
    ...pins.flatMap((pin) => otherDefaults(pin, `${dockerfile}\n${compose}`)),
    ...(unpinned.length === 0
      ? []
      : [`deploy/images.env has no digest for ${unpinned.join(', ')}: pin-images writes them`]),
  ]
}

/** The default images of Dockerfile and Compose file must be the pinned ones: otherwise their users would get different images. */
function otherDefaults({ variable, reference }: ImagePin, text: string): string[] {
  const used = [...text.matchAll(new RegExp(`(?:ARG ${variable}=|\\$\\{${variable}:-)([^\\s}]+)`, 'g'))]
  const wrong = used.map(([, image = '']) => image).filter((image) => image !== nameOf(reference))
  if (used.length === 0) return [`${variable} of deploy/images.env is used nowhere`]
  return wrong.map((image) => `${variable} is ${nameOf(reference)} in deploy/images.env, but ${image} by default`)
}
