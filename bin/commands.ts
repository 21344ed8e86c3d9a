import type { Command } from 'commander'

/** The sub-commands of `tidemark`. Each `file` exports `command`, to which `loadCommand` adds name, description and example. */
export const commands = [
  {
    name: 'api',
    file: 'src/api/startApi.ts',
    description: 'serves the read-only JSON API',
    example: 'PORT=3000 tidemark api',
  },
  {
    name: 'indexer',
    file: 'indexer/indexer.ts',
    description: 'indexes the Kafka topics in Elasticsearch and Redis',
    example: 'KAFKA_BROKERS=kafka:9092 tidemark indexer',
  },
  {
    name: 'settings',
    file: 'src/settings/startSettings.ts',
    description: 'serves the settings area, where owners manage account keys',
    example: 'SETTINGS_URL=https://keys.example.com tidemark settings',
  },
  {
    name: 'keys',
    file: 'src/settings/keysCommand.ts',
    description: "creates, lists, revokes and deletes a team's account keys: ten slots, revoked keys included",
    example: 'tidemark keys create --team acme --name Dashboard --expires 2027-01-01T00:00:00Z',
  },
  {
    name: 'rebuild',
    file: 'indexer/generations/rebuild.ts',
    description: 'builds every index anew from Kafka beside the live one, then switches readers to it in one step',
    example: 'INDEX_SHARDS=3 tidemark rebuild',
  },
  {
    name: 'verify',
    file: 'indexer/verify/verify.ts',
    description: 'compares every document and account key with the topics, beside a running system',
    example: 'tidemark verify --team acme',
  },
  {
    name: 'erase',
    file: 'indexer/erase/erase.ts',
    description: 'removes the data of a submission that the product has deleted, and lists what remains until when',
    example: 'tidemark erase --team acme --submission 4711',
  },
  {
    name: 'dead-letters',
    file: 'indexer/deadLetters/deadLettersCommand.ts',
    description: 'lists rejected records, and replays them',
    example: 'tidemark dead-letters list --topic forms --path form.title',
  },
  {
    name: 'health',
    file: 'src/core/process/healthCommand.ts',
    description: 'the health check of a container: prints what fails; kills a process that hangs',
    example: 'tidemark health /readyz',
  },
  {
    name: 'sample',
    file: 'tools/sample/sampleCommand.ts',
    description:
      'loads sample teams into a running Tidemark, and prints how to read them; a second run changes nothing',
    example: 'tidemark sample --api http://127.0.0.1:3000/api/v1 --keys var/sample-keys.json',
  },
  {
    name: 'sample-settings',
    file: 'tools/sample/sampleSettingsCommand.ts',
    description: 'serves the settings area; if SIGN_IN_… is not set, accepts the links that `tidemark sign-in` prints',
    example: 'tidemark sample-settings --folder var',
  },
  {
    name: 'sign-in',
    file: 'tools/sample/signInCommand.ts',
    description: 'prints a link to the settings area of the running demo, or of sample-settings',
    example: 'tidemark sign-in --team acme',
  },
  {
    name: 'demo',
    file: 'tools/demo/demoCommand.ts',
    description: 'runs engines, sample teams, indexer, API and settings area until Ctrl-C',
    example: 'tidemark demo --submissions 20000 --port 3100',
  },
  {
    name: 'engines',
    file: 'tools/engines/enginesCommand.ts',
    description: 'runs Elasticsearch, Kafka and Redis on loopback until Ctrl-C',
    example: 'tidemark engines --clean --nodes 3',
  },
  {
    name: 'kubernetes',
    file: 'tools/kubernetes/kubernetesCommand.ts',
    description: 'runs a Kubernetes with the image and engines on this machine until Ctrl-C',
    example: 'tidemark kubernetes --nodes 2',
  },
  {
    name: 'schemas',
    file: 'tools/schemas/schemasCommand.ts',
    description: 'writes the JSON Schemas of the topics to schemas, and docs/configuration.md',
    example: 'tidemark schemas',
  },
  {
    name: 'release',
    file: 'tools/release/releaseCommand.ts',
    description: 'prepares and checks a release',
    example: 'tidemark release check',
  },
  {
    name: 'bench',
    file: 'tools/bench/benchCommand.ts',
    description: 'measures Tidemark and alternatives, on engines of its own, and writes tables to tools/bench/results',
    example: 'tidemark bench api-small',
  },
  {
    name: 'screenshots',
    file: 'tools/screenshots/screenshotsCommand.ts',
    description: 'takes pictures of the pages of the running demo for docs/screenshots',
    example: 'tidemark screenshots --to var/pictures',
  },
  {
    name: 'simulate',
    file: 'test/simulation/main.ts',
    description: 'runs Tidemark through random histories on simulated engines, and checks every invariant',
    example: 'tidemark simulate --seeds 100 --theme switch,late',
  },
  {
    name: 'soak',
    file: 'test/soak/main.ts',
    description: 'kills, freezes and cuts off each node of real engines in turn, with a strict check after each round',
    example: 'tidemark soak --minutes 5 --seed 7',
  },
  {
    name: 'title-relevance',
    file: 'test/relevance/main.ts',
    description: 'measures recall and precision of the title search, on engines of its own',
    example: 'tidemark title-relevance',
  },
  {
    name: 'mutation',
    file: 'test/mutation/main.ts',
    description: 'changes the code one expression at a time, and prints each change that no unit test notices',
    example: 'tidemark mutation src/core/model',
  },
] as const

type CommandEntry = (typeof commands)[number]
export type CommandName = CommandEntry['name']

/** `path` is relative to the project's folder. */
export const urlOf = (path: string): URL => new URL(`../${path}`, import.meta.url)

export async function loadCommand({ name, file, description, example }: CommandEntry): Promise<Command> {
  const { command } = (await import(urlOf(file).href)) as { command: Command }
  return command.name(name).description(description).addHelpText('afterAll', `\nExample: ${example}`)
}
