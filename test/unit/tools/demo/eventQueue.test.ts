import { Agenda } from '../../../../tools/demo/eventQueue.ts'

test('events come out in the order of time, those of one instant as they were noted', () => {
  const agenda = new Agenda<string>()
  agenda.note(30, 'late')
  agenda.note(10, 'first')
  agenda.note(20, 'second')
  agenda.note(10, 'first too')
  expect([...agenda.due(20)]).toEqual([
    { atMs: 10, event: 'first' },
    { atMs: 10, event: 'first too' },
    { atMs: 20, event: 'second' },
  ])
  expect([...agenda.due(29)]).toEqual([])
  expect([...agenda.due(30)]).toEqual([{ atMs: 30, event: 'late' }])
})

test('what is noted while due events are taken out comes along', () => {
  const agenda = new Agenda<string>()
  agenda.note(10, 'cause')
  const taken: string[] = []
  for (const { event } of agenda.due(20)) {
    taken.push(event)
    if (event === 'cause') agenda.note(15, 'effect')
  }
  expect(taken).toEqual(['cause', 'effect'])
})
