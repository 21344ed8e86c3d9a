// The key stays in its input. It is sent only in the `Authorization` header, to the API of the same origin.

const byId = (id) => document.getElementById(id)
const choices = byId('choices')
const say = JSON.parse(choices.dataset.texts)
const number = new Intl.NumberFormat(say.language, { maximumFractionDigits: 1 })
const date = new Intl.DateTimeFormat(say.language, { month: 'short', day: 'numeric' })
const typingMs = 250

/** Text is never parsed as markup. */
const element = (name, properties, ...content) => {
  const made = Object.assign(document.createElement(name), properties)
  made.append(...content)
  return made
}

/** Shows the request as `<name>-request`; resolves with the answer of the API, or rejects with its message. */
const ask = async (name, path, query, signal) => {
  const parameters = String(new URLSearchParams(query)).replace(/%(2C|2F|3A)/g, decodeURIComponent)
  const url = new URL(`api/v1/${path}?${parameters}`, location.href)
  // In a shell, a quote in the URL would end the quoted text.
  const quoted = url.href.replaceAll("'", '%27')
  byId(`${name}-request`).value = `curl -H "Authorization: Bearer $TIDEMARK_KEY" '${quoted}'`
  const key = byId('key').value.trim()
  if (!key) throw new Error(say.noKey)
  // Leaves a valid key unchanged. Headers may not allow other characters; encoded, they reach the API, which refuses them.
  const headers = { Authorization: `Bearer ${encodeURIComponent(key)}` }
  const [answer, body] = await fetch(url, { headers, signal, cache: 'no-store', credentials: 'omit' })
    .then(async (response) => [response, await response.json()])
    .catch(() => Promise.reject(new Error(say.unreachable)))
  signal.throwIfAborted()
  if (answer.ok) return body
  throw Object.assign(new Error(body.error.message), { lang: 'en', seconds: answer.headers.get('Retry-After') })
}

/** Returns a function that starts the work of a section after a pause, aborts its former work, and shows the result or the error. */
const latest = (section, work) => {
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

const findForms = latest(byId('forms'), async (signal) => {
  const titleContains = byId('title').value.trim()
  const query = { ...(titleContains && { titleContains }), fields: 'id,title', limit: 8 }
  const { totalDocs, items } = await ask('forms', 'forms', query, signal)
  const list = byId('form-list')
  const chosen = list.querySelector(':checked')
  const kept = { id: chosen?.value ?? '', title: chosen?.parentElement.textContent ?? say.allForms }
  const titles = new Map([{ id: '', title: say.allForms }, kept, ...items].map(({ id, title }) => [id, title]))
  const radio = (value) => element('input', { type: 'radio', name: 'form', value, checked: value === kept.id })
  list.replaceChildren(...[...titles].map(([id, title]) => element('label', {}, radio(id), title)))
  return say.formsFound.replace('%', number.format(totalDocs))
})

/** Fills the choice of questions, unless it is filled already; resolves with the chosen code. (`fieldsWithCode` is loaded before this file.) */
const chosenQuestion = async (form, signal) => {
  if (!form) throw new Error(say.noForm)
  const select = byId('code')
  if (select.dataset.form !== form) {
    const path = `forms/${encodeURIComponent(form)}`
    const { fields } = await ask('form', path, { includeReport: false }, signal)
    const questions = [...fieldsWithCode(fields)].filter(([, { type }]) => type !== 'page_break')
    select.replaceChildren(...questions.map(([code, { title }]) => element('option', { value: code }, title ?? code)))
    select.dataset.form = form
  }
  return select.value
}

const showCounts = latest(byId('counts'), async (signal) => {
  const { form, counted, span } = Object.fromEntries(new FormData(choices))
  byId('question').hidden = counted !== 'answer'
  const code = counted === 'answer' ? { code: await chosenQuestion(form, signal) } : {}
  const now = new Date()
  const dayAt = (offset) => new Date(now.getFullYear(), now.getMonth(), now.getDate() + offset)
  const days = Array.from({ length: Number(span) }, (_, at) => dayAt(at + 1 - span))
  const time = { since: days[0].toISOString(), until: new Date(dayAt(1) - 1).toISOString() }
  const filters = { ...code, ...(form && { formId: form }), ...time }
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  const [byDay, totals] = await Promise.all([
    ask('days', 'record-counts', { by: `day,${counted}`, timeZone, ...filters }, signal),
    ask('totals', 'record-counts', { by: counted, scores: true, ...filters }, signal),
  ])
  draw(days, totals.items, byDay.items)
  return say.found.replace('%', number.format(totals.totalDocs))
})

/** A piece of a bar. Styles are set by script, because the page's policy forbids them in markup. */
const piece = (at, size) => element('i', { style: `--at: ${at}; flex-grow: ${size}` })

/** Shows the counts as stacked bars, and as a table. */
const draw = (days, totals, items) => {
  const nameOf = (day, value) => JSON.stringify([day, value])
  const counts = new Map(items.map(({ key: [time, value], count }) => [nameOf(time.slice(0, 10), value), count]))
  // Swedish dates have the format of ISO 8601.
  const countOf = (day, value) => counts.get(nameOf(day.toLocaleDateString('sv'), value)) ?? 0
  const bars = days.map((day) => totals.map(({ key }) => countOf(day, key)))
  const sums = bars.map((parts) => parts.reduce((sum, part) => sum + part, 0))
  const highest = Math.max(1, ...sums)
  const labels = days.map((day) => date.format(day))
  const drawn = bars.map((parts, at) => {
    const title = `${labels[at]}: ${number.format(sums[at])}`
    const style = `height: ${(100 * sums[at]) / highest}%`
    return element('div', { title, style }, ...parts.map((part, value) => piece(value, part)))
  })
  byId('bars').replaceChildren(...drawn)
  const scale = { highest: number.format(highest), first: labels[0], last: labels.at(-1) }
  for (const [id, text] of Object.entries(scale)) byId(id).textContent = text

  const rows = totals.map(({ key, count, scores: { mean } }, at) => {
    const texts = [count, mean, ...bars.map((parts) => parts[at])].map((value) =>
      value === null ? '–' : number.format(value),
    )
    const name = element('th', { scope: 'row' }, piece(at), key ?? say.none)
    return element('tr', {}, name, ...texts.map((text) => element('td', {}, text)))
  })
  const head = [say.value, say.submissions, say.mean, ...labels].map((text) => element('th', { scope: 'col' }, text))
  byId('numbers').replaceChildren(element('thead', {}, element('tr', {}, ...head)), element('tbody', {}, ...rows))
}

choices.addEventListener('submit', (event) => {
  event.preventDefault()
  findForms()
  showCounts()
})
choices.addEventListener('change', ({ target }) => {
  // Another key may belong to another team, with other forms, or another form of the same id.
  if (target.id === 'key') {
    byId('form-list').replaceChildren()
    delete byId('code').dataset.form
  }
  if (target.name) showCounts()
})
byId('title').addEventListener('input', () => findForms(typingMs))
for (const request of document.querySelectorAll('textarea')) request.addEventListener('focus', () => request.select())
