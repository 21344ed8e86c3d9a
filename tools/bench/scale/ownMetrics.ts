/** The sum of all samples of a metric, whatever their labels, in the text format of Prometheus; 0 when there is none. */
export const sumOf = (text: string, metric: string): number =>
  text
    .split('\n')
    .filter((line) => line.startsWith(`${metric} `) || line.startsWith(`${metric}{`))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0)

/** What one of the project's processes tells of itself. */
export async function readMetrics(adminOrigin: string, signal: AbortSignal): Promise<string> {
  const answer = await fetch(`${adminOrigin}/metrics`, { signal })
  return await answer.text()
}
