import { missingPrograms, type Prerequisites } from '../../../../tools/engines/prerequisites.ts'

const jdk = (major: number) => ({ home: `/jdk-${major}`, major })
const elasticsearch: Prerequisites = { engine: 'Elasticsearch', minJdk: 21, jdks: [jdk(17)], fetches: true }
const kafka: Prerequisites = { engine: 'Kafka', minJdk: 17, jdks: [jdk(17)], fetches: false }

test('names every missing program, its engine, and what to install', () => {
  const [first, second, ...others] = missingPrograms([elasticsearch, kafka], false)
  expect(first).toMatch(/^A JDK for Elasticsearch \(21 or newer\); found 17 in \/jdk-17\. .*apt-get.*brew/)
  expect(second).toMatch(/^Maven, to fetch Elasticsearch once: .*apt-get.*brew/)
  expect(others).toEqual([])
})

test('advises a JDK that is new enough for every engine, and names the user who must be able to run it', () => {
  const needs = [
    { ...elasticsearch, jdks: [], user: { uid: 65_534, gid: 65_534 } },
    { ...kafka, jdks: [] },
  ]
  const [problem] = missingPrograms(needs, true)
  expect(problem).toContain('Elasticsearch (21 or newer, where user 65534 may run it), Kafka (17 or newer); found none')
  expect(problem).toContain('openjdk-21-jdk-headless')
})
