import { createHash } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { withLog } from '../engines/logTail.ts'
import { runSupervised } from '../engines/supervisedProgram.ts'
import { unpackOnce } from '../engines/unpackOnce.ts'

export const kubernetesVersion = '1.34.3'
const buildDeadlineMs = 60 * 60_000
const goModule = fileURLToPath(new URL('go/', import.meta.url))

const kubernetesPrograms = [
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kube-proxy',
  'kubelet',
  'kubectl',
]
/** Kubernetes from its own source with the first process of each pod, and CoreDNS with few plugins. */
const builds = [
  { folder: goModule, packages: ['./pause', ...kubernetesPrograms.map((name) => `k8s.io/kubernetes/cmd/${name}`)] },
  { folder: join(goModule, 'dns'), packages: ['.'] },
]
const sources = ['go.mod', 'go.sum', 'pause/main.go', 'dns/go.mod', 'dns/go.sum', 'dns/main.go']

/** Helm reads the version, and the API server refuses to start without one. */
const linkerFlags = (): string => {
  const [major, minor] = kubernetesVersion.split('.')
  const values = { gitVersion: `v${kubernetesVersion}`, gitMajor: major, gitMinor: minor }
  const set = Object.entries(values).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`)
  return ['-s', '-w', ...set].join(' ')
}

type BuildOptions = { logPath: string; report(step: string): void; signal: AbortSignal }

const cacheFolder = (): string => join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'tidemark')

/**
 * The folder with Kubernetes' programs, which Go builds once, in ten minutes on two cores, and in one where its cache has the packages. They are
 * kept in the user's cache folder, for every clone.
 */
export const builtPrograms = async ({ logPath, report, signal }: BuildOptions): Promise<string> => {
  const contents = await Promise.all(sources.map((path) => readFile(join(goModule, path))))
  const hash = createHash('sha256').update(Buffer.concat(contents)).digest('hex').slice(0, 12)
  const build = async (draft: string): Promise<string> => {
    report('building Kubernetes, once, for about ten minutes')
    const folder = join(draft, 'bin')
    await mkdir(folder)
    const options = { what: 'Building Kubernetes', logPath, deadlineMs: buildDeadlineMs, signal }
    for (const { folder: cwd, packages } of builds) {
      const args = ['build', '-trimpath', '-o', `${folder}/`, '-ldflags', linkerFlags(), ...packages]
      const command = { command: 'go', args, cwd, env: { ...process.env, CGO_ENABLED: '0' } }
      await withLog({ name: 'kubernetes', logPath, signal }, () => runSupervised(command, options))
    }
    return folder
  }
  return unpackOnce(cacheFolder(), `kubernetes-${kubernetesVersion}-${hash}`, build, signal)
}
