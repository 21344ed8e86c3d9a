// The last file of the module of `/explore` (`pages.ts`): what happens when the user enters a key or chooses something. It uses the files before it.

/** The search for forms begins after this pause in typing. */
const typingPauseMs = 250
/** The most series in the chart, and the most rows of the table. The last stands for all others. */
const maxDrawn = 10
const maxListed = 200
const badRequest = 400
const creationTime = new Intl.DateTimeFormat(texts.language, { dateStyle: 'medium', timeStyle: 'short' })
const period = new Intl.DateTimeFormat(texts.language, { dateStyle: 'medium', timeZone: 'UTC' })

/**
 * How many submissions each form of the team has, by the form's id. Undefined until counted with the present key. Null if the team has too many forms for
 * one answer, for which the API answers 400.
 */
let formCounts
const countForms = async (signal) => {
  if (formCounts === undefined)
    formCounts = await requestApi('form-counts', 'record-counts', { by: 'form' }, signal).then(
      ({ items }) => new Map(items.map(({ key, count }) => [key, count])),
      (error) => (error.status === badRequest ? null : Promise.reject(error)),
    )
  return formCounts
}

/** A form to choose: its title, and what distinguishes it from other forms of this title. `counts`: as `formCounts`. */
const formLabel = ({ id, title, scene, createdAt }, counts) => {
  const details = [texts[scene] ?? scene, creationTime.format(Date.parse(createdAt))]
  if (counts) details.push(texts.found.replace('%', number.format(counts.get(id) ?? 0)))
  return formChoice(id, title, element('small', { className: 'text-light' }, details.join(' · ')))
}
/** `value`: the form's id; empty for all forms. */
const formChoice = (value, title, ...details) =>
  element(
    'label',
    {},
    element('input', { type: 'radio', name: 'form', value }),
    element('span', {}, element('span', { className: 'title' }, title), ...details),
  )

/** Lists the forms whose title matches, below "All forms" and the chosen form. */
const findForms = latest(byId('forms'), async (signal) => {
  const titleContains = byId('title').value.trim()
  const query = { ...(titleContains && { titleContains }), fields: 'id,title,scene,createdAt', limit: 8 }
  const [{ totalDocs, items }, counts] = await Promise.all([
    requestApi('forms', 'forms', query, signal),
    countForms(signal),
  ])
  const list = byId('form-list')
  const chosen = list.querySelector(':checked')
  const labels = new Map([['', formChoice('', texts.allForms)]])
  if (chosen?.value) labels.set(chosen.value, chosen.closest('label'))
  for (const form of items) labels.set(form.id, formLabel(form, counts))
  for (const [id, label] of labels) label.firstChild.checked = id === (chosen?.value ?? '')
  list.replaceChildren(...labels.values())
  return texts.formsFound.replace('%', number.format(totalDocs))
})

/** Fills the choice of questions with those of the form, unless it has them already; resolves with the code of the chosen question. */
const chosenQuestion = async (formId, signal) => {
  if (!formId) throw new Error(texts.noForm)
  const select = byId('code')
  if (select.dataset.form !== formId) {
    const path = `forms/${encodeURIComponent(formId)}`
    const { fields } = await requestApi('form', path, { includeReport: false }, signal)
    const questions = [...fieldsWithCode(fields)].filter(([, { type }]) => type !== 'page_break')
    select.replaceChildren(...questions.map(([code, { title }]) => element('option', { value: code }, title ?? code)))
    select.dataset.form = formId
  }
  return select.value
}

/** Requests the counts of what the user has chosen, and shows them as chart and table. `counted`: `level`, `outcome`, `utmCampaign` or `answer`. */
const showCounts = latest(byId('counts'), async (signal) => {
  const { form: formId, counted, span: dayCount, zone } = Object.fromEntries(new FormData(choices))
  byId('question').hidden = counted !== 'answer'
  const code = counted === 'answer' ? { code: await chosenQuestion(formId, signal) } : {}
  const dates = lastDates(Date.now(), Number(dayCount), zone)
  const since = new Date(startOfDate(dates[0], zone)).toISOString()
  const until = new Date(startOfNextDate(dates.at(-1), zone) - 1).toISOString()
  const filters = { ...code, ...(formId && { formId }), since, until }
  const [byDay, totals] = await Promise.all([
    requestApi('days', 'record-counts', { by: `day,${counted}`, timeZone: zone, ...filters }, signal),
    requestApi('totals', 'record-counts', { by: counted, scores: true, ...filters }, signal),
  ])
  const allSeries = seriesOf(dates, totals.items, byDay.items)
  const drawn = withOthers(allSeries, maxDrawn)
  drawChart(dates, zone, JSON.stringify([counted, code]), drawn, hideRows)
  fillTable(dates, withOthers(allSeries, maxListed), drawn)
  const title = choices.querySelector('[name=form]:checked ~ * .title')?.textContent ?? texts.allForms
  const countedText = counted === 'answer' ? byId('code').selectedOptions[0].textContent : texts[counted]
  const ends = [dates[0], dates.at(-1)]
  byId('shown').textContent = [title, countedText, period.formatRange(...ends.map(Date.parse))].join(' · ')
  byId('csv').dataset.name = ['submissions', formId || 'all', ...Object.values(code), counted, ...ends].join('-')
  return texts.found.replace('%', number.format(totals.totalDocs))
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
  // Another key may belong to another team, which has other forms, and may have another form with the same id.
  if (target.id === 'key') {
    byId('form-list').replaceChildren()
    delete byId('code').dataset.form
    formCounts = undefined
  }
  if (target.name) showCounts()
})
byId('title').addEventListener('input', () => findForms(typingPauseMs))
byId('csv').addEventListener('click', ({ target }) => saveCsv(`${target.dataset.name}.csv`))
for (const request of document.querySelectorAll('textarea')) request.addEventListener('focus', () => request.select())
