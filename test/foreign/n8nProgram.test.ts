import { readFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { eventually } from '../support/eventually.ts'
import { useStarted } from '../support/lifecycle.ts'
import { startLocalServer } from '../support/localServer.ts'
import { usePipeline } from '../support/pipeline.ts'
import { type Json, stateRecord } from '../support/randomHistory.ts'
import { openN8nPackage } from './support/n8nPackage.ts'
import { n8nFolder, openN8n } from './support/n8nProgram.ts'

const installDeadlineMs = 15 * 60_000
const testDeadlineMs = 10 * 60_000
const team = 'acme'

/** A chat: takes messages at `/failed` and `/deleted`, and answers each only while `isOpen`. */
async function startChat() {
  const messages: { readonly path: string; readonly id: string }[] = []
  const held: ServerResponse[] = []
  let isOpen = true
  const server = await startLocalServer(async (request, response) => {
    const { id } = JSON.parse(await text(request))
    messages.push({ path: request.url ?? '', id })
    if (isOpen) response.end('{}')
    else held.push(response)
  })
  return {
    ...server,
    messages,
    idsAt: (path: string): string[] => messages.filter((each) => each.path === path).map(({ id }) => id),
    setOpen: (open: boolean): void => {
      isOpen = open
      if (open) for (const response of held.splice(0)) response.end('{}')
    },
  }
}

// It takes 2.2 GB and eight minutes to install, so a person does it: connectors/n8n/README.md.
const describeN8n = n8nFolder === undefined ? describe.skip : describe

describeN8n('a real n8n', () => {
  const package_ = useStarted('the package', openN8nPackage, { patienceMs: installDeadlineMs })
  const pipeline = usePipeline()
  beforeAll(() => pipeline.startIndexer())
  const api = useStarted('the API', () => pipeline.startApi())
  const chat = useStarted('the chat', startChat)
  const n8n = useStarted(
    'n8n',
    async () => {
      await pipeline.createKeys([team])
      expect(await package_.tool('build')).toContain('Build successful')
      return await openN8n(n8nFolder ?? '', package_)
    },
    { patienceMs: installDeadlineMs },
  )

  /** The example of the README with this chat's address. */
  async function example(): Promise<Json> {
    const workflow = JSON.parse(await readFile('connectors/n8n/examples/message-for-each-failed-quiz.json', 'utf8'))
    const [trigger, , message] = workflow.nodes
    trigger.credentials = { tidemarkApi: { id: 'credential-1', name: 'Tidemark' } }
    message.parameters.url = `${chat.url}/once`
    return workflow
  }

  /** The example without its memory of what was sent, and with a second message for what is deleted: it shows all that the trigger emits. */
  async function everyRow(): Promise<Json> {
    const workflow = await example()
    const [trigger, , message] = workflow.nodes
    const deleted = structuredClone(message)
    message.parameters.url = `${chat.url}/failed`
    Object.assign(deleted, { id: 'deleted', name: 'Deleted' })
    Object.assign(deleted.parameters, {
      url: `${chat.url}/deleted`,
      jsonBody: '={{ JSON.stringify({ id: $json.id }) }}',
    })
    workflow.nodes = [trigger, message, deleted]
    const to = (node: string): Json => [{ node, type: 'main', index: 0 }]
    workflow.connections = { 'Tidemark Trigger': { main: [to('Send Message'), to('Deleted')] } }
    return workflow
  }

  const result = (level: string): Json => ({ status: 'completed', level, score: 20 })
  const submit = (id: string, level: string, revision = 1): Promise<void> =>
    pipeline.produceHistory([stateRecord('submissions', `${team}/${id}`, revision, { result: result(level) })])

  test(
    'sends a message for each failed quiz and each deletion, and loses none when it is killed',
    async () => {
      await submit('before', 'fail')
      await pipeline.untilApplied(api, team)
      const data = { baseUrl: `${api.url}/api/v1`, apiKey: pipeline.keyOf(team) }
      await n8n.importCredential({ id: 'credential-1', name: 'Tidemark', type: 'tidemarkApi', data })
      await n8n.importWorkflow({ ...(await everyRow()), id: 'workflow-1' })
      await n8n.start()

      await submit('passed', 'good')
      await submit('failed', 'fail')
      await eventually(() => chat.idsAt('/failed').includes('failed'))
      await pipeline.produceHistory([stateRecord('submissions', `${team}/passed`, null)])
      await eventually(() => chat.idsAt('/deleted').includes('passed'))
      expect(chat.idsAt('/failed')).toEqual(['failed'])

      // Killed while the chat has the message and n8n waits for its answer.
      chat.setOpen(false)
      await submit('unanswered', 'fail')
      await eventually(() => chat.idsAt('/failed').includes('unanswered'))
      await n8n.kill()
      await submit('meanwhile', 'fail')
      await pipeline.untilApplied(api, team)
      chat.setOpen(true)
      const before = chat.messages.length
      await n8n.start()
      const since = (): string[] => chat.messages.slice(before).map(({ id }) => id)
      await eventually(() => since().includes('meanwhile'))
      expect(since().toSorted()).toEqual(['meanwhile', 'unanswered'])
    },
    testDeadlineMs,
  )

  test(
    'sends one message for each failed quiz by the example, also when n8n is restarted in between',
    async () => {
      await n8n.stop()
      await n8n.importWorkflow({ ...(await example()), id: 'workflow-2' })
      const startBoth = async (): Promise<void> => {
        await n8n.start()
        await eventually(async () => (await n8n.log()).split('Activated trigger node').length === 3)
      }
      await startBoth()
      const sent = (): string[] => chat.idsAt('/once')
      await submit('one', 'fail')
      await eventually(() => sent().includes('one'))
      await submit('two', 'fail')
      await eventually(() => sent().includes('two'))
      await n8n.stop()
      await submit('three', 'fail')
      await startBoth()
      await eventually(() => sent().includes('three'))
      await submit('four', 'fail')
      // Changed, as after a second look at an answer.
      await submit('one', 'fail', 2)
      await submit('five', 'fail')
      await eventually(() => sent().includes('five') && sent().includes('four'))
      // n8n sends the messages of one execution side by side.
      expect(sent().toSorted()).toEqual(['five', 'four', 'one', 'three', 'two'])
    },
    testDeadlineMs,
  )

  test(
    'the editor tests a credential, and finds nodes by what they read, and forms by their titles',
    async () => {
      const form = stateRecord('forms', `${team}/f1`, 1, { title: 'Product Knowledge' })
      await pipeline.produceHistory([form])
      await pipeline.untilApplied(api, team)
      await n8n.signUp()
      const data = { baseUrl: `${api.url}/api/v1/`, apiKey: pipeline.keyOf(team) }
      const credential = { id: 'credential-1', name: 'Tidemark', type: 'tidemarkApi', data }
      expect(await n8n.post('credentials/test', { credentials: credential })).toMatchObject({ status: 'OK' })
      const unknown = { ...credential, data: { ...data, apiKey: 'rqp_acct_unknown' } }
      expect(await n8n.post('credentials/test', { credentials: unknown })).toEqual({
        status: 'Error',
        message: 'The account key is unknown, expired or revoked',
      })
      const elsewhere = { ...credential, data: { ...data, baseUrl: api.url } }
      expect(await n8n.post('credentials/test', { credentials: elsewhere })).toEqual({
        status: 'Error',
        message: expect.stringContaining('"Base URL", which ends in /api/v1'),
      })

      const types = (await n8n.nodeTypes()).filter(({ name }) => /\.tidemark(?:Trigger)?$/.test(name))
      for (const { codex } of types) expect(codex.alias).toEqual(expect.arrayContaining(['Quiz', 'Submission']))
      expect(types).toHaveLength(2)

      const found = await n8n.post('dynamic-node-parameters/resource-locator-results', {
        path: 'parameters.filters.formId',
        nodeTypeAndVersion: { name: 'n8n-nodes-tidemark.tidemarkTrigger', version: 1 },
        currentNodeParameters: {},
        credentials: { tidemarkApi: { id: 'credential-1', name: 'Tidemark' } },
        methodName: 'searchForms',
        filter: 'prod',
      })
      expect(found.results).toEqual([{ name: 'Product Knowledge', value: 'f1' }])
    },
    testDeadlineMs,
  )
})
