import { EventQueue } from '../../../../tools/demo/eventQueue.ts'

test('events come out in the order of time, those of one instant in the order in which they were added', () => {
  const queue = new EventQueue<string>()
  queue.add(30, 'late')
  queue.add(10, 'first')
  queue.add(20, 'second')
  queue.add(10, 'first too')
  expect([...queue.due(20)]).toEqual([
    { atMs: 10, event: 'first' },
    { atMs: 10, event: 'first too' },
    { atMs: 20, event: 'second' },
  ])
  expect([...queue.due(29)]).toEqual([])
  expect([...queue.due(30)]).toEqual([{ atMs: 30, event: 'late' }])
})

test('events that are added while due ones are taken are taken too', () => {
  const queue = new EventQueue<string>()
  queue.add(10, 'cause')
  const taken: string[] = []
  for (const { event } of queue.due(20)) {
    taken.push(event)
    if (event === 'cause') queue.add(15, 'effect')
  }
  expect(taken).toEqual(['cause', 'effect'])
})
