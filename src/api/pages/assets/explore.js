/** The longest pause between two typed letters. */
const typingMs = 250
/** The most values with a colour of their own, and with a row of their own. */
const mostDrawn = 10
const mostListed = 200
const badRequest = 400
const created = new Intl.DateTimeFormat(say.language, { dateStyle: 'medium', timeStyle: 'short' })
const period = new Intl.DateTimeFormat(say.language, { dateStyle: 'medium', timeZone: 'UTC' })

/** How many submissions each form of the team has, by id; undefined until the key is shown, null if the team has too many forms for one answer. */
let formCounts
const countForms = async (signal) => {
  if (formCounts === undefined)
    formCounts = await ask('form-counts', 'record-counts', { by: 'form' }, signal).then(
      ({ items }) => new Map(items.map(({ key, count }) => [key, count])),
      (error) => (error.status === badRequest ? null : Promise.reject(error)),
    )
  return formCounts
}

/** The title of a form, and what tells it from others of this title. */
const formLabel = ({ id, title, scene, createdAt }, counts) => {
  const count = counts && say.found.replace('%', number.format(counts.get(id) ?? 0))
  const details = [say[scene] ?? scene, created.format(Date.parse(createdAt)), ...(count ? [count] : [])].join(' · ')
  return formChoice(id, title, element('small', { className: 'text-light' }, details))
}
const formChoice = (value, title, ...details) =>
  element(
    'label',
    {},
    element('input', { type: 'radio', name: 'form', value }),
    element('span', {}, element('span', { className: 'title' }, title), ...details),
  )

const findForms = latest(byId('forms'), async (signal) => {
  const titleContains = byId('title').value.trim()
  const query = { ...(titleContains && { titleContains }), fields: 'id,title,scene,createdAt', limit: 8 }
  const [{ totalDocs, items }, counts] = await Promise.all([ask('forms', 'forms', query, signal), countForms(signal)])
  const list = byId('form-list')
  const chosen = list.querySelector(':checked')
  const labels = new Map([['', formChoice('', say.allForms)]])
  if (chosen?.value) labels.set(chosen.value, chosen.closest('label'))
  for (const form of items) labels.set(form.id, formLabel(form, counts))
  for (const [id, label] of labels) label.firstChild.checked = id === (chosen?.value ?? '')
  list.replaceChildren(...labels.values())
  return say.formsFound.replace('%', number.format(totalDocs))
})

/** Fills the choice of questions with those of the form, unless it has them already; resolves with the chosen code. */
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
  const { form, counted, span, zone } = Object.fromEntries(new FormData(choices))
  byId('question').hidden = counted !== 'answer'
  const code = counted === 'answer' ? { code: await chosenQuestion(form, signal) } : {}
  const dates = lastDates(Date.now(), Number(span), zone)
  const since = new Date(startOfDate(dates[0], zone)).toISOString()
  const until = new Date(startOfNextDate(dates.at(-1), zone) - 1).toISOString()
  const filters = { ...code, ...(form && { formId: form }), since, until }
  const [byDay, totals] = await Promise.all([
    ask('days', 'record-counts', { by: `day,${counted}`, timeZone: zone, ...filters }, signal),
    ask('totals', 'record-counts', { by: counted, scores: true, ...filters }, signal),
  ])
  const series = seriesOf(dates, totals.items, byDay.items)
  const drawn = withOthers(series, mostDrawn)
  drawChart(dates, zone, JSON.stringify([counted, code]), drawn, hideRows)
  fillTable(dates, withOthers(series, mostListed), drawn)
  const title = choices.querySelector('[name=form]:checked ~ * .title')?.textContent ?? say.allForms
  const what = counted === 'answer' ? byId('code').selectedOptions[0].textContent : say[counted]
  const ends = [dates[0], dates.at(-1)]
  byId('shown').textContent = [title, what, period.formatRange(...ends.map(Date.parse))].join(' · ')
  byId('csv').dataset.name = ['submissions', form || 'all', ...Object.values(code), counted, ...ends].join('-')
  return say.found.replace('%', number.format(totals.totalDocs))
})

/** Offers the time zone of the browser first. */
const fillZones = () => {
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone
  const zones = new Set([own, 'UTC', ...Intl.supportedValuesOf('timeZone')])
  byId('zone').replaceChildren(...[...zones].map((value) => element('option', { value }, value)))
}

fillZones()
choices.addEventListener('submit', (event) => {
  event.preventDefault()
  formCounts = undefined
  findForms()
  showCounts()
})
choices.addEventListener('change', ({ target }) => {
  // Another key may belong to another team, with other forms, or another form of the same id.
  if (target.id === 'key') {
    byId('form-list').replaceChildren()
    delete byId('code').dataset.form
    formCounts = undefined
  }
  if (target.name) showCounts()
})
byId('title').addEventListener('input', () => findForms(typingMs))
byId('csv').addEventListener('click', ({ target }) => saveCsv(`${target.dataset.name}.csv`))
for (const request of document.querySelectorAll('textarea')) request.addEventListener('focus', () => request.select())
