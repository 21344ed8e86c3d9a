import { rmdir } from 'node:fs/promises'
import { accessibleFolder, unprivilegedUser } from '../../../tools/engines/permissions.ts'
import { temporaryFolder } from '../../support/temporaryFolder.ts'

test('Elasticsearch keeps its data in the folder, whoever it runs as', async () => {
  const folder = await temporaryFolder('temporaryFolder-')
  expect(await accessibleFolder(folder, unprivilegedUser())).toBe(folder)
  await rmdir(folder)
})
