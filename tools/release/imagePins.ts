/** A line of `deploy/images.env`: `NAME_IMAGE=repository:tag`, followed by `@sha256:…` once it is pinned. */
export type ImagePin = { readonly variable: string; readonly reference: ImageReference }

/** `host`: the registry, if the reference names one; `repository`: as written, `node` or `apache/kafka`. */
export type ImageReference = {
  readonly host: string | undefined
  readonly repository: string
  readonly tag: string
  readonly digest: string | undefined
}

const line = /^([A-Z]+_IMAGE)=(\S+)$/gm
const form = /^(?:([\w.-]+(?:\.[\w.-]+|:\d+)|localhost)\/)?([a-z0-9._/-]+):([\w.-]+)(?:@(sha256:[0-9a-f]{64}))?$/

export const parsePins = (text: string): ImagePin[] =>
  [...text.matchAll(line)].map(([, variable = '', written = '']) => ({ variable, reference: parseReference(written) }))

/** Throws for a reference without a tag, which would be another image after each release. */
export function parseReference(written: string): ImageReference {
  const match = form.exec(written)
  if (match === null) throw new Error(`${written} is not an image with a tag, such as apache/kafka:4.3.1`)
  const [, host, repository = '', tag = '', digest] = match
  return { host, repository, tag, digest }
}

export const nameOf = ({ host, repository, tag }: ImageReference): string =>
  `${host === undefined ? '' : `${host}/`}${repository}:${tag}`

/** Leaves the rest of the text as it is. */
export const withDigests = (text: string, digests: ReadonlyMap<string, string>): string =>
  text.replace(line, (unchanged, variable: string, written: string) => {
    const digest = digests.get(variable)
    return digest === undefined ? unchanged : `${variable}=${nameOf(parseReference(written))}@${digest}`
  })
