// The key stays in its input. It is sent only in the `Authorization` header, to the API of the same origin. No answer is stored.

/** Shows the request as `<name>-request`; resolves with the answer of the API, or rejects with its message. */
export const ask = async (name, path, query, signal) => {
  const parameters = String(new URLSearchParams(query)).replace(/%(2C|2F|3A)/g, decodeURIComponent)
  const url = new URL(`api/v1/${path}?${parameters}`, location.href)
  // In a shell, a quote in the URL would end the quoted text.
  const shown = url.href.replaceAll("'", '%27')
  byId(`${name}-request`).value = `curl -H "Authorization: Bearer $TIDEMARK_KEY" '${shown}'`
  const key = byId('key').value.trim()
  if (!key) throw new Error(say.noKey)
  // Leaves a valid key unchanged. Other characters may not be allowed in headers; encoded, they reach the API, which refuses them.
  const headers = { Authorization: `Bearer ${encodeURIComponent(key)}` }
  const [answer, body] = await fetch(url, { headers, signal, cache: 'no-store', credentials: 'omit' })
    .then(async (response) => [response, await response.json()])
    .catch(() => Promise.reject(new Error(say.unreachable)))
  signal.throwIfAborted()
  if (answer.ok) return body
  const { status } = answer
  throw Object.assign(new Error(body.error.message), { status, lang: 'en', seconds: answer.headers.get('Retry-After') })
}

/** Returns a function that starts the work of a section after a pause, aborts its former work, and shows the result or the error there. */
export const latest = (section, work) => {
  const status = section.querySelector('[role=status]')
  const alert = section.querySelector('[role=alert]')
  const result = section.querySelector('.result')
  let running = new AbortController()
  return (restMs = 0) => {
    running.abort()
    running = new AbortController()
    const { signal } = running
    const show = (text, ...failure) => {
      if (signal.aborted) return
      status.textContent = text
      alert.replaceChildren(...failure)
      result.hidden = failure.length > 0
    }
    const start = () => (signal.aborted ? '' : work(signal))
    new Promise((resolve) => setTimeout(resolve, restMs))
      .then(start)
      .then(show, ({ message, lang = say.language, seconds }) =>
        show('', element('span', { lang }, message), seconds ? say.again.replace('%', seconds) : ''),
      )
  }
}
