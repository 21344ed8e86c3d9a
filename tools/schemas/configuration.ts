import { type Config, readConfig, variableNames } from '../../src/core/process/config.ts'
import { fileVariables } from '../../src/core/process/secretFiles.ts'

type Settings = Omit<Config, 'files'>

type Variable = {
  /** Who reads it: A is the API, I an indexer, S the settings area. */
  readonly of: string
  readonly meaning: string
  /** Where the default is not one value. */
  readonly byDefault?: string
}

const signIn = (meaning: string): Variable => ({ of: 'S', meaning })
const engine = (meaning: string, of = 'A I S'): Variable => ({ of, meaning })
const address = (meaning: string, of: string): Variable => ({ of, meaning, byDefault: '`var/engines.env`' })

/** What each variable means. Its name and its default are the schema's. */
const variables: Readonly<Record<keyof Settings, Variable>> = {
  PORT: { of: 'A S', meaning: 'port of the API, or of the settings area', byDefault: '3000 (A), 3001 (S)' },
  HOST: {
    of: 'A S',
    meaning: 'IP address or name that the API, or the settings area, listens on',
    byDefault: 'all interfaces',
  },
  BASE_URL: {
    of: 'A',
    meaning:
      'URL at which clients reach the API, ending in `/api/v1`; named, encoded, in headers and in the OpenAPI description',
    byDefault: '`/api/v1`',
  },
  ADMIN_PORT: {
    of: 'A I S',
    meaning: "`/livez`, `/readyz`, `/metrics`, and the indexer's `/status`; 0 turns it off",
    byDefault: '9101 (A), 9102 (I), 9103 (S)',
  },
  ADMIN_HOST: {
    of: 'A I S',
    meaning: 'IP address or name that the admin port listens on',
    byDefault: '`127.0.0.1`; `0.0.0.0` in the image',
  },
  ADMIN_ALLOWED_HOSTS: {
    of: 'A I S',
    meaning:
      'host names, comma-separated, that the admin port accepts besides `localhost` and `ADMIN_HOST`, such as that of a Prometheus target; IP addresses are always accepted',
  },
  DRAIN_MS: {
    of: 'A I S',
    meaning:
      'how long a process goes on after SIGTERM while `/readyz` says no, so that no load balancer sends it another request; a second signal ends it at once',
  },
  LOG_LEVEL: {
    of: 'A I S',
    meaning: '`trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`: JSON lines on stderr',
  },
  ELASTICSEARCH_URL: address(
    'comma-separated; may have a path, and name a user and a password, percent-encoded. A cluster of several nodes needs `cluster.no_master_block: all`',
    'A I',
  ),
  ELASTICSEARCH_USERNAME: engine('with `ELASTICSEARCH_PASSWORD`', 'A I'),
  ELASTICSEARCH_PASSWORD: engine('with `ELASTICSEARCH_USERNAME`', 'A I'),
  ELASTICSEARCH_API_KEY: engine('instead of a user', 'A I'),
  ELASTICSEARCH_CA_FILE: engine('the only authorities that are trusted, in PEM', 'A I'),
  KAFKA_BROKERS: address('`host:port`, comma-separated; hosts are names or IPv4 addresses', 'I S'),
  KAFKA_SSL: engine('`true`: TLS, by the authorities of Node and of the system', 'I S'),
  KAFKA_SSL_CA_FILE: engine('TLS, by these authorities only, in PEM', 'I S'),
  KAFKA_SSL_CERT_FILE: engine('TLS, with this client certificate in PEM; with `KAFKA_SSL_KEY_FILE`', 'I S'),
  KAFKA_SSL_KEY_FILE: engine('its private key in PEM, without a passphrase', 'I S'),
  KAFKA_SASL_MECHANISM: engine(
    '`plain`, `scram-sha-256` or `scram-sha-512`, with a user and a password; `oauthbearer`; `aws-msk-iam`, over TLS, with the credentials that the AWS SDK finds ([how](../security/README.md#kafka))',
    'I S',
  ),
  KAFKA_SASL_USERNAME: engine('with `plain` and `scram-…`', 'I S'),
  KAFKA_SASL_PASSWORD: engine('with `plain` and `scram-…`', 'I S'),
  KAFKA_OAUTH_TOKEN_URL: engine('with `oauthbearer`: URL of the token endpoint; `https://` except on loopback', 'I S'),
  KAFKA_OAUTH_CLIENT_ID: engine('with `oauthbearer`', 'I S'),
  KAFKA_OAUTH_CLIENT_SECRET: engine('with `oauthbearer`', 'I S'),
  KAFKA_OAUTH_SCOPE: engine('with `oauthbearer`: scopes to ask for, separated by spaces', 'I S'),
  AWS_REGION: engine('region of the cluster, with `aws-msk-iam`', 'I S'),
  REDIS_URL: address('`rediss://` for TLS; a database other than the first is its path, such as `/2`', 'A I S'),
  REDIS_SENTINELS: engine(
    '`host:port`, comma-separated, an IPv6 address in brackets. Then only scheme, user, password and database of `REDIS_URL` are used',
  ),
  REDIS_SENTINEL_NAME: engine('name of the master, with `REDIS_SENTINELS`'),
  REDIS_CA_FILE: engine('the only authorities that are trusted, in PEM'),
  REDIS_CERT_FILE: engine('client certificate in PEM, with `REDIS_KEY_FILE` and `rediss://`'),
  REDIS_KEY_FILE: engine('its private key in PEM, without a passphrase'),
  INDEX_PREFIX: { of: 'A I S', meaning: 'prefix of every index and Redis key' },
  INDEX_ANSWERS: {
    of: 'A I',
    meaning:
      '`false`: submissions are not found or counted by their answers, which are not indexed either ([what that saves](performance.md)); a change needs `npm run rebuild`, as new mappings do',
  },
  INDEX_SHARDS: { of: 'I', meaning: 'primary shards of each new index; `npm run rebuild` changes existing ones' },
  CONSUMER_GROUP: { of: 'I', meaning: "the indexers' consumer group" },
  TOPIC_FORMS: { of: 'I', meaning: 'topic of forms; created when missing, like the others' },
  TOPIC_SUBMISSIONS: { of: 'I', meaning: 'topic of submissions' },
  TOPIC_ACCOUNT_KEYS: { of: 'I S', meaning: 'topic of account keys' },
  TOPIC_DEAD_LETTERS: { of: 'I', meaning: 'topic of records that break the contract' },
  TOPIC_KEY_AUDIT: { of: 'I S', meaning: 'topic that tells who changed which key; the indexer creates it' },
  MAX_IN_FLIGHT_BYTES: { of: 'I', meaning: 'bytes of records that an indexer holds between fetched and processed' },
  MAX_RECORDS_PER_SECOND: {
    of: 'I',
    meaning: 'the most records that one process writes in a second, so that catching up leaves room for others',
    byDefault: 'no limit',
  },
  RATE_LIMIT_PER_MINUTE: { of: 'A', meaning: 'requests a minute of each key' },
  ANSWER_CACHE_BYTES: { of: 'A', meaning: 'memory that an API process may use for cached answers; 0 caches none' },
  DEEP_PAGE_FROM: {
    of: 'A',
    meaning: 'offset from which pages are deep: found by counting rows instead of skipping them',
  },
  SETTINGS_URL: {
    of: 'S',
    meaning: 'URL at which browsers reach the settings area; `https://` except on loopback',
    byDefault: '`http://127.0.0.1:<port>`',
  },
  SIGN_IN_SECRET: signIn("secret of 32 bytes or more with which the product signs owners' links"),
  SIGN_IN_JWKS_URL: signIn('instead of the secret: public keys'),
  SIGN_IN_ISSUER: signIn('`iss` of these links; required'),
  SIGN_IN_AUDIENCE: signIn('`aud` of these links'),
  SIGN_IN_PAGE: signIn('page of the product that gives an owner a new link'),
}

const introduction = `# Configuration

Every process is configured by its environment. A is the API, I an indexer (with \`rebuild\`, \`verify\`, \`erase\` and \`dead-letters\`), S the settings area (with \`keys\`).
Addresses of engines that are not set are taken from \`var/engines.env\`, which \`npm run engines\` writes.

A process reports every wrong variable at its start, by name, and exits with 78: also a name that begins like one of these and is none, such as
\`MAX_INFLIGHT_BYTES\` (what Kubernetes sets for a service, such as \`REDIS_PORT\`, is not meant), a line break in a value, a port that another
process has, and \`PORT\` equal to \`ADMIN_PORT\`. It does the same for an engine that rejects its credentials, has an untrusted certificate or
is of another major version than Elasticsearch 9, and for a database that Redis refuses. It waits for an engine that is unreachable.
[Rights in the engines](../security/README.md) lists users and rights.

## Secrets in files

A variable marked * may be given as a file: \`REDIS_URL_FILE\` names a file that holds what \`REDIS_URL\` would. Line breaks at the end of the file are not part of it.
Both at once, and a file that is missing, unreadable or empty, are reported like a wrong value.

A process reads these files, and those of certificates and keys, again while it runs, at most once a second, when it connects or asks. A file that cannot be used then is
logged, and all files count as they were before.

| changed file | taken up |
|---|---|
| \`ELASTICSEARCH_USERNAME_FILE\`, \`…_PASSWORD_FILE\`, \`…_API_KEY_FILE\` | by the next request |
| \`KAFKA_SASL_…_FILE\`, \`KAFKA_SSL_…_FILE\` | by the next connection to a broker |
| \`KAFKA_OAUTH_…_FILE\` | by the next token |
| user and password of \`REDIS_URL_FILE\`, \`REDIS_CA_FILE\`, \`REDIS_CERT_FILE\`, \`REDIS_KEY_FILE\` | by the next connection |
| \`SIGN_IN_SECRET_FILE\` | by the next sign-in |
| \`ELASTICSEARCH_URL_FILE\`, \`ELASTICSEARCH_CA_FILE\`, \`KAFKA_BROKERS_FILE\`, \`REDIS_SENTINELS_FILE\`, the rest of \`REDIS_URL_FILE\` | after a restart |

## Variables

\`npm run schemas\` writes this page from the schema by which the variables are validated.
`

/** `docs/configuration.md`. */
export function configurationPage(): string {
  const read = readConfig({}, [])
  if (!read.ok) throw new Error('an empty environment is not valid')
  const rows = [...variableNames].map((name) => {
    const { of, meaning, byDefault } = variables[name as keyof Settings]
    const mark = fileVariables.has(`${name}_FILE`) ? ' *' : ''
    return `| \`${name}\`${mark} | ${of} | ${byDefault ?? shown(read.config[name as keyof Settings])} | ${meaning} |`
  })
  return `${introduction}\n| variable | of | default | |\n|---|---|---|---|\n${rows.join('\n')}\n`
}

const shown = (value: Settings[keyof Settings]): string =>
  value === undefined || (Array.isArray(value) && value.length === 0) ? '' : `\`${String(value)}\``
