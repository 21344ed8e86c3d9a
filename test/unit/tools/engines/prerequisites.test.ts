import { missing, type Need, PrerequisitesMissing } from '../../../../tools/engines/prerequisites.ts'

const jdk = (major: number) => ({ home: `/jdk-${major}`, major })
const elasticsearch: Need = { engine: 'Elasticsearch', minJdk: 21, jdks: [jdk(17)], fetches: true }
const kafka: Need = { engine: 'Kafka', minJdk: 17, jdks: [jdk(17)], fetches: false }

test('a machine that has everything lacks nothing', () => {
  expect(missing([{ ...elasticsearch, jdks: [jdk(17), jdk(21)] }, kafka], true)).toEqual([])
})

test('Maven is not missed when everything is fetched', () => {
  expect(missing([kafka], false)).toEqual([])
})

test('tells all that is missing, for which engine, and what to install', () => {
  const [first, second, ...others] = missing([elasticsearch, kafka], false)
  expect(first).toMatch(/^A JDK for Elasticsearch \(21 or newer\); found 17 in \/jdk-17\. .*apt-get.*brew/)
  expect(second).toMatch(/^Maven, to fetch Elasticsearch once: .*apt-get.*brew/)
  expect(others).toEqual([])
})

test('advises a JDK that is new enough for every engine, and tells who must be able to run it', () => {
  const needs = [
    { ...elasticsearch, jdks: [], user: { uid: 65_534, gid: 65_534 } },
    { ...kafka, jdks: [] },
  ]
  const [problem] = missing(needs, true)
  expect(problem).toContain('Elasticsearch (21 or newer, where user 65534 may run it), Kafka (17 or newer); found none')
  expect(problem).toContain('openjdk-21-jdk-headless')
})

test('the error has every problem and the exit code for a wrong configuration', () => {
  const error = new PrerequisitesMissing(['one', 'two'])
  expect(error.message).toBe('The engines need what is missing here:\n- one\n- two')
  expect(error.exitCode).toBe(78)
})
