export default async function stop(): Promise<void> {
  await globalThis.testEngines?.stop()
}
