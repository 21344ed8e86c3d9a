import type { FormPlan } from './forms.ts'
import { entityId, type Random, seededRandom } from './random.ts'

/** People of a team in one language. Some of them submit often. */
const peopleCount = 2_500
const firstJoinedMs = Date.UTC(2025, 0, 6)
const anonymousShare = 0.2
const mailDomains = ['example.com', 'example.org', 'example.net', 'mail.example']
const departments = ['sales', 'production', 'logistics', 'support', 'finance']

/** Null for an anonymous respondent. */
export function renderExaminee(form: FormPlan, random: Random): Record<string, unknown> | null {
  if (random.chance(anonymousShare)) return null
  const number = Math.floor(random.float() ** 2 * peopleCount) + 1
  return personOf(form, number)
}

function personOf({ team, language }: FormPlan, number: number): Record<string, unknown> {
  const random = seededRandom(`${team.id}/${language.locale}/person/${number}`)
  const { given, family, order } = language.people
  const givenName = random.pick(given)
  const familyName = random.pick(family)
  return {
    id: entityId(random, firstJoinedMs + number * 3_600_000),
    examineeId: `P-${String(number).padStart(5, '0')}`,
    email: `person.${number}@${random.pick(mailDomains)}`,
    name: order === 'family first' ? `${familyName}${givenName}` : `${givenName} ${familyName}`,
    customData: random.chance(0.65) ? null : { department: random.pick(departments), employeeNumber: 10_000 + number },
  }
}

type Channel = readonly [source: string | null, medium: string | null, referrer: string | null, weight: number]

const channels: readonly Channel[] = [
  [null, null, null, 30],
  ['newsletter', 'email', null, 24],
  ['linkedin', 'social', 'https://www.linkedin.com/', 14],
  ['google', 'cpc', 'https://www.google.com/', 12],
  ['google', 'organic', 'https://www.google.com/', 8],
  ['qr-poster', 'offline', null, 7],
  ['partner-blog', 'referral', 'https://blog.example/best-quizzes', 5],
]
const channelWeights = channels.map(([, , , weight]) => weight)

const userAgents = [
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (Linux; Android 15; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Safari/605.1.15',
  'Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0',
]
/** Reserved for documentation. */
const networks = ['192.0.2', '198.51.100', '203.0.113']

export function renderMetadata({ subject }: FormPlan, random: Random): Record<string, unknown> {
  const [source, medium, referrer] = channels[random.weighted(channelWeights)] ?? [null, null, null]
  const isPaid = medium === 'cpc'
  const isCampaign = isPaid || medium === 'email' || medium === 'social' || medium === 'offline'
  return {
    utmSource: source,
    utmMedium: medium,
    utmCampaign: isCampaign ? `${subject.key}-${random.pick(['launch', 'autumn', 'reminder'])}` : null,
    utmTerm: isPaid ? random.pick(['online quiz', 'free self test', subject.key.replaceAll('-', ' ')]) : null,
    utmContent: isCampaign && random.chance(0.5) ? random.pick(['header', 'button', 'footer-link']) : null,
    referrer,
    ip: random.chance(0.85)
      ? `${random.pick(networks)}.${1 + random.below(254)}`
      : `2001:db8:${random.text('123456789abcdef', 4)}::${random.text('123456789abcdef', 3)}`,
    userAgent: random.pick(userAgents),
  }
}
