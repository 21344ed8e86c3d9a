import { parseTimeZone } from '../../../src/api/parameterSchemas.ts'

test('every zone that this process lists is read, in any letter case, also with spaces for its plus', () => {
  for (const zone of Intl.supportedValuesOf('timeZone')) {
    expect(parseTimeZone(zone)).toBe(zone)
    expect(parseTimeZone(zone.toLowerCase().replace('+', ' '))).toBe(zone)
  }
})

test.each([
  ['Asia/Kolkata', 'Asia/Calcutta'],
  ['US/Pacific', 'America/Los_Angeles'],
  ['GB', 'Europe/London'],
  ['GMT', 'UTC'],
])('%s is another name of %s', (name, zone) => {
  expect(parseTimeZone(name)).toBe(zone)
})

test.each([
  '',
  'Z',
  '+02:00',
  '-0200',
  '02:00',
  'UTC+2',
  'GMT+2',
  'PST',
  'IST',
  'Europe',
  'Europe/',
  ' UTC',
  'UTC\0',
  'Etc/Unknown',
])('%p is no name', (text) => {
  expect(parseTimeZone(text)).toBeUndefined()
})
