import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIP, isIPv6 } from 'node:net'
import { z } from 'zod'
import { attempt, parsed } from '../model/schema.ts'

export const itemsOf = (value: string | undefined): string[] =>
  (value ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')

const controlCharacter = /\p{Cc}/u

/** An empty value counts as not set. Refuses control characters, such as the line break at the end of a secret from a file. */
export const setting = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((value, context) => {
    if (typeof value === 'string' && controlCharacter.test(value))
      context.addIssue('must not contain a line break or another control character')
    return value === '' ? undefined : value
  }, schema)

export const optionalText = setting(z.string().optional())
export const text = (fallback: string) => setting(z.string().default(fallback))
const trueOrFalse = z.enum(['true', 'false']).transform((value) => value === 'true')
export const flag = setting(trueOrFalse.optional())
export const flagOn = setting(trueOrFalse.default(true))

/** If `isValid` is false, later rules are not checked (`abort`). */
const checked = (isValid: (value: string) => boolean, error: string) =>
  z.string().refine(isValid, { error, abort: true })
const matching = (pattern: RegExp, rule: string) => z.string().regex(pattern, rule)
export const apiKey = matching(/^[\x21-\x7e]+$/, 'must be ASCII characters without spaces')
export const indexPrefix = matching(
  /^[a-z0-9][a-z0-9_-]{0,99}$/,
  'must be 1 to 100 of a-z 0-9 _ -, beginning with a letter or digit',
)
export const topic = (fallback: string) =>
  setting(matching(/^(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}$/, 'must be a Kafka topic name').default(fallback))

const minSecretBytes = 32
const isLongEnough = (value: string): boolean => Buffer.byteLength(value) >= minSecretBytes
export const secret = checked(isLongEnough, `must have at least ${minSecretBytes} bytes`)

export const integer = (min: number, max: number) =>
  checked((digits) => isInteger(digits, min, max), `must be an integer from ${min} to ${max}`).transform(Number)

const isInteger = (digits: string, min: number, max: number): boolean =>
  /^\d+$/.test(digits) && Number(digits) >= min && Number(digits) <= max

const maxPort = 65_535
export const port = integer(0, maxPort)

const list = <Item extends z.ZodType<unknown, string>>(item: Item) =>
  z.string().optional().transform(itemsOf).pipe(z.array(item))

/** The last label is no number: URL parsers would take the name for an IP address. */
const hostNamePattern = /^(?=.{1,253}$)(?:(?![-.])[\w-]{0,62}\w\.)*(?!\d+$)(?!-)[\w-]{0,62}\w$/
const isHost = (value: string): boolean => isIP(value) !== 0 || hostNamePattern.test(value)
export const host = checked(isHost, 'must be an IP address or a host name, without a port')
export const hostNames = list(matching(hostNamePattern, 'must be host names without ports, separated by commas'))

const hostAndPortPattern = /^(?:\[(?<address>[^\s\]]+)\]|(?<name>[^\s/:@[\]]+)):(?<digits>\d+)$/
/** Undefined for other text than `host:port`; an IPv6 address is in brackets. */
export function hostAndPort(value: string): { readonly host: string; readonly port: number } | undefined {
  const { address, name = address, digits = '' } = hostAndPortPattern.exec(value)?.groups ?? {}
  if (name === undefined || !isInteger(digits, 1, maxPort) || (address !== undefined && !isIPv6(address)))
    return undefined
  return { host: name, port: Number(digits) }
}

const addressRule = `must be host:port, separated by commas, ports from 1 to ${maxPort}`
export const sentinels = list(parsed(hostAndPort, addressRule))
const broker = checked((item) => hostAndPort(item) !== undefined, addressRule)
/** KafkaJS splits host and port at the first colon. */
export const brokers = list(broker.regex(/^[^[]/, 'must not be IPv6 addresses'))

export const baseUrl = checked(
  (value) => /^https?:\/\/[^?#\s@]*\/api\/v1$/.test(value) && URL.canParse(value),
  'must be an http:// or https:// URL that ends in /api/v1, without a user',
)
  // Encodes non-ASCII characters, as a browser does: headers are ASCII.
  .transform((value) => new URL(value).href)

const engineUrl = (protocol: RegExp, rule: string) => checked((value) => isEngineUrl(value, protocol), rule)

function isEngineUrl(value: string, protocol: RegExp): boolean {
  const url = /\s/.test(value) ? null : URL.parse(value)
  if (url === null || url.port === '0' || !protocol.test(url.protocol)) return false
  return attempt(() => decodeURIComponent(`${url.username}${url.password}`)) !== undefined
}

/** The client sends a user and a password only together. */
const namesWholeUser = (value: string): boolean => {
  const { username = '', password = '' } = URL.parse(value) ?? {}
  return (username === '') === (password === '')
}
export const elasticsearchUrls = list(
  engineUrl(/^https?:$/, 'must be http:// or https:// URLs, separated by commas').refine(
    namesWholeUser,
    'must name a user and a password, or neither',
  ),
)

/** Named by its number (`/2` or `?db=2`), or none. The client would read other text as database 0. */
const hasValidDatabase = (value: string): boolean => {
  const { pathname = '', searchParams } = URL.parse(value) ?? {}
  return /^\/?(\d{1,9})?$/.test(pathname) && /^\d{0,9}$/.test(searchParams?.get('db') ?? '')
}
export const redisUrl = engineUrl(/^rediss?:$/, 'must be a redis:// or rediss:// URL')
  .refine(hasValidDatabase, 'must end in the number of a database, such as /2, or name none')
  // Drops `/0`, the default: the client would send SELECT, which a Redis user may not be permitted.
  .transform((value) => value.replace(/^(rediss?:\/\/[^/?#]*\/)0+(?=$|[?#])/i, '$1'))

const isLoopback = (hostname: string): boolean => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
const isSecureUrl = (value: string): boolean => {
  const url = URL.parse(value)
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname))
}
const isSecureOrigin = (value: string): boolean =>
  isSecureUrl(value) && URL.parse(value)?.href === `${URL.parse(value)?.origin}/`
const secureUrlRule = 'must be an https:// URL, or an http:// one of a loopback host'
export const secureUrl = checked(isSecureUrl, secureUrlRule)
export const secureOrigin = checked(isSecureOrigin, `${secureUrlRule}, without a path`).transform(
  (url) => new URL(url).origin,
)

const pemFile = (isValid: (pem: string) => boolean, rule: string) =>
  optionalText.transform((path, context) => {
    if (path === undefined) return undefined
    try {
      const pem = readFileSync(path, 'utf8')
      if (isValid(pem)) return pem
      context.addIssue(rule)
    } catch (error) {
      context.addIssue(`cannot be read: ${(error as Error).message}`)
    }
    return z.NEVER
  })

/** Without certificates, TLS would trust no server, and every connection would fail without a clear reason. */
export const certificates = pemFile((pem) => {
  const blocks = pem.match(/-----BEGIN (TRUSTED |X509 )?CERTIFICATE-----[^-]*-----END \1?CERTIFICATE-----/g) ?? []
  for (const block of blocks) new X509Certificate(block)
  return blocks.length > 0
}, 'holds no certificate in PEM')

/** There is no variable for a passphrase. */
export const privateKey = pemFile(
  (pem) => attempt(() => createPrivateKey(pem)) !== undefined,
  'holds no private key in PEM without a passphrase',
)
