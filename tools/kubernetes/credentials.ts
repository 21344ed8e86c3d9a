import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { apiServerUrl, type NodePlan } from './addresses.ts'

type User = { readonly name: string; readonly groups: readonly string[]; readonly token: string }

export type Credentials = {
  readonly tokensPath: string
  readonly serviceAccountKeyPath: string
  /** Writes the kubeconfig of a user, such as `admin`, and resolves with its path. */
  kubeconfigOf(user: string, certificatePath: string): Promise<string>
}

/** As `kubeadm` names them: Kubernetes itself grants them what they need. */
const usersFor = (nodes: readonly NodePlan[]): User[] => {
  const user = (name: string, ...groups: string[]): User => ({ name, groups, token: randomBytes(24).toString('hex') })
  return [
    user('admin', 'system:masters'),
    user('system:kube-controller-manager'),
    user('system:kube-scheduler'),
    user('system:kube-proxy'),
    ...nodes.map(({ name }) => user(`system:node:${name}`, 'system:nodes')),
  ]
}

/** Tokens for all parts of the cluster, in files in `folder`. */
export const makeCredentials = async (folder: string, nodes: readonly NodePlan[]): Promise<Credentials> => {
  const users = usersFor(nodes)
  const tokensPath = join(folder, 'tokens.csv')
  const lines = users.map(({ name, groups, token }) => `${token},${name},${name},"${groups.join()}"\n`)
  await writeFile(tokensPath, lines.join(''), { mode: 0o600 })
  const serviceAccountKeyPath = join(folder, 'service-accounts.key')
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  await writeFile(serviceAccountKeyPath, privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 })
  const kubeconfigOf = async (name: string, certificatePath: string): Promise<string> => {
    const token = users.find((user) => user.name === name)?.token
    if (token === undefined) throw new Error(`the cluster has no user ${name}`)
    const path = join(folder, `${name.replaceAll(':', '-')}.kubeconfig`)
    await writeFile(path, renderKubeconfig(token, certificatePath), { mode: 0o600 })
    return path
  }
  return { tokensPath, serviceAccountKeyPath, kubeconfigOf }
}

/** kubectl reads JSON, too. */
const renderKubeconfig = (token: string, certificatePath: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'tidemark',
    clusters: [{ name: 'tidemark', cluster: { server: apiServerUrl, 'certificate-authority': certificatePath } }],
    users: [{ name: 'tidemark', user: { token } }],
    contexts: [{ name: 'tidemark', context: { cluster: 'tidemark', user: 'tidemark' } }],
  })
