import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from './run.ts'

/** The name that docs/kubernetes.md uses. Nothing is pulled: images are imported into the nodes. */
export const imageName = 'registry.example.com/tidemark'
export const pauseImage = 'registry.example.com/pause:1'
const buildDeadlineMs = 15 * 60_000
const importDeadlineMs = 5 * 60_000
const root = fileURLToPath(new URL('../../', import.meta.url))

type Options = { folder: string; signal: AbortSignal }

/** Builds the image of each pod's first process. */
export const buildPauseImage = async (programs: string, { folder, signal }: Options): Promise<void> => {
  const context = join(folder, 'pause')
  await mkdir(context, { recursive: true })
  await copyFile(join(programs, 'pause'), join(context, 'pause'))
  await writeFile(join(context, 'Dockerfile'), 'FROM scratch\nCOPY pause /\nUSER 65534:65534\nENTRYPOINT ["/pause"]\n')
  await run('docker', ['build', '--tag', pauseImage, context], { signal, deadlineMs: buildDeadlineMs })
}

/** The version of this checkout, which is the tag that the chart uses by default. */
export const currentTag = async (): Promise<string> =>
  (JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }).version

/** Builds the product's image from this checkout, or from `source`, such as a checkout of an earlier release. Resolves with its name and tag. */
export const buildImage = async (
  tag: string,
  { source = root, signal }: { source?: string; signal: AbortSignal },
): Promise<string> => {
  await run('docker', ['build', '--tag', `${imageName}:${tag}`, source], { signal, deadlineMs: buildDeadlineMs })
  return `${imageName}:${tag}`
}

/** Makes images of Docker's known to every node, as if they had been pulled. `enter`: the command that runs another one in the node. */
export const importImages = async (
  tags: readonly string[],
  nodes: readonly { readonly enter: readonly string[] }[],
  { folder, signal }: Options,
): Promise<void> => {
  const archive = join(folder, 'images.tar')
  await run('docker', ['save', '--output', archive, ...tags], { signal, deadlineMs: importDeadlineMs })
  for (const { enter } of nodes) {
    const [command = '', ...args] = enter
    const ctr = ['ctr', '--address', '/run/containerd/containerd.sock', '--namespace', 'k8s.io']
    await run(command, [...args, ...ctr, 'images', 'import', archive], { signal, deadlineMs: importDeadlineMs })
  }
  await rm(archive)
}
