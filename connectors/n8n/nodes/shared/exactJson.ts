type Reviver = (name: string, value: unknown) => unknown

/**
 * Reads JSON. A number that JavaScript would change becomes text with its digits: one beyond 2^53 - 1, such as an answer of 23 digits, one beyond
 * a double (`1e400`), one too small for a double. Throws a SyntaxError if `text` is no JSON, such as a body that was cut off.
 */
export function parseExactly(text: string): unknown {
  return JSON.parse(text, keepDigits as Reviver)
}

function keepDigits(_name: string, value: unknown, context?: { readonly source?: string }): unknown {
  const source = context?.source
  return typeof value === 'number' && source !== undefined && isChanged(value, source) ? source : value
}

function isChanged(value: number, source: string): boolean {
  if (value === 0) return /[1-9]/.test(source.split(/e/i)[0] ?? '')
  return !(Math.abs(value) <= Number.MAX_SAFE_INTEGER)
}
