import { rawMembers } from '../../../../src/core/json/rawJson.ts'
import type { TeamId } from '../../../../src/core/model/ids.ts'
import { formRecord, submissionRecord } from '../../../support/replicaRecords.ts'

/** What is served, by the specification's tables: of each object the names in their order. */
const form = 'id title scene language publicToken shareUrl localization isActive createdAt updatedAt'
const submission = 'id serialNumber formId shareToken reportUrl submittedAt updatedAt examinee metadata data'
const utmAndReferrer = 'utmSource utmMedium utmCampaign utmTerm utmContent referrer'
const served = {
  'a form in a list': { '': form },
  'a single form': { '': `${form} description layout systemText fields report` },
  'a submission in a list': {
    '': `${submission} result`,
    examinee: 'id examineeId email name customData',
    metadata: utmAndReferrer,
    result: 'status score maxScore level outcomeCode outcomeName',
  },
  'a single submission': {
    '': `${submission} reportResult`,
    examinee: 'id email name',
    metadata: `${utmAndReferrer} ip userAgent`,
    reportResult: 'status overallAnalysis dimensionAnalysis outcome aiSuggestion',
    'reportResult.overallAnalysis': 'score maxScore level summary suggestions',
    'reportResult.dimensionAnalysis': 'title radar items',
    'reportResult.outcome': 'code name ranking',
    'reportResult.aiSuggestion': 'status content',
  },
}

const team = 'acme' as TeamId
const renderings = [formRecord(team, 'f1', 1, { secret: 1 }), submissionRecord(team, 's1', 1, { secret: 1 })].flatMap(
  ({ live }) => [String(live?.entity.summary), String(live?.entity.detail)],
)

test.each(
  Object.entries(served).flatMap(([what, objects], at) =>
    Object.entries(objects).map(([path, names]) => [what, path, names, at] as const),
  ),
)('of %s, %p has what is documented, in that order', (_what, path, names, at) => {
  const steps = path === '' ? [] : path.split('.')
  const object = steps.reduce((text, name) => rawMembers(text).get(name) ?? '', renderings[at] ?? '')
  expect([...rawMembers(object).keys()].join(' ')).toBe(names)
})
