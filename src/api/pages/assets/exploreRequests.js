// The key stays in its input. It is sent only in the `Authorization` header, to the API of the same origin. No answer is stored.

/** Shows the request in the element `<name>-request`. Resolves with the answer of the API, or rejects with its message. */
export const requestApi = async (name, path, query, signal) => {
  const parameters = String(new URLSearchParams(query)).replace(/%(2C|2F|3A)/g, decodeURIComponent)
  const url = new URL(`api/v1/${path}?${parameters}`, location.href)
  // In a shell, a quote in the URL would end the quoted text.
  const shown = url.href.replaceAll("'", '%27')
  byId(`${name}-request`).value = `curl -H "Authorization: Bearer $TIDEMARK_KEY" '${shown}'`
  const key = byId('key').value.trim()
  if (!key) throw new Error(texts.noKey)
  // A valid key remains unchanged. In another text, `fetch` would refuse some characters; encoded, they reach the API, which refuses the text as a key.
  const headers = { Authorization: `Bearer ${encodeURIComponent(key)}` }
  const [response, body] = await fetch(url, { headers, signal, cache: 'no-store', credentials: 'omit' })
    .then(async (received) => [received, await received.json()])
    .catch(() => Promise.reject(new Error(texts.unreachable)))
  signal.throwIfAborted()
  if (response.ok) return body
  const { status } = response
  const retryAfterSeconds = response.headers.get('Retry-After')
  throw Object.assign(new Error(body.error.message), { status, lang: 'en', retryAfterSeconds })
}

/**
 * Returns a function that aborts the running work of a section, waits for a pause, starts the work, and shows its result (a text) or its error in the
 * section.
 */
export const latest = (section, work) => {
  const status = section.querySelector('[role=status]')
  const alert = section.querySelector('[role=alert]')
  const result = section.querySelector('.result')
  let running = new AbortController()
  return (pauseMs = 0) => {
    running.abort()
    running = new AbortController()
    const { signal } = running
    const show = (text, ...failure) => {
      // Later work shows its own result.
      if (signal.aborted) return
      status.textContent = text
      alert.replaceChildren(...failure)
      result.hidden = failure.length > 0
    }
    const start = () => (signal.aborted ? '' : work(signal))
    new Promise((resolve) => setTimeout(resolve, pauseMs))
      .then(start)
      .then(show, ({ message, lang = texts.language, retryAfterSeconds }) => {
        const advice = retryAfterSeconds ? texts.again.replace('%', retryAfterSeconds) : ''
        show('', element('span', { lang }, message), advice)
      })
  }
}
