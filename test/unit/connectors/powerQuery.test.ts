import { readFile } from 'node:fs/promises'
import { DefaultSettings, TaskUtils } from '@microsoft/powerquery-parser'

test('the Power Query snippet is valid M', async () => {
  const text = await readFile('connectors/snippets/records.pq', 'utf8')
  const task = await TaskUtils.tryLexParse(DefaultSettings, text)
  expect(TaskUtils.isParseStageOk(task)).toBe(true)
  const broken = await TaskUtils.tryLexParse(DefaultSettings, text.replace('in\n', ''))
  expect(TaskUtils.isParseStageOk(broken)).toBe(false)
})
