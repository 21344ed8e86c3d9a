// The page: fields for assumptions and costs, and the table of results. In a block, because scripts of a page share their top level.
{
  const { assumptions, costs, machines, numbersOf } = tidemarkInputs
  const { rowsOf, textOf } = tidemarkScale
  const form = document.querySelector('form')
  const own = document.querySelector('#own')
  const results = document.querySelector('#results')
  const status = document.querySelector('[role=status]')
  const million = 1e6

  /** Makes an element; a text in backticks is code. */
  const make = (name, attributes, ...content) => {
    const element = document.createElement(name)
    for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value)
    for (const part of content) element.append(...(typeof part === 'string' ? withCode(part) : [part]))
    return element
  }
  const withCode = (text) => text.split('`').map((part, at) => (at % 2 === 0 ? part : make('code', {}, part)))

  const numberField = (attributes, value) =>
    make('input', { type: 'number', required: '', min: 0, max: 1e12, step: 'any', ...attributes, value })

  const assumptionField = ([id, { label, value, min = 0, max = 1e12, step = 'any' }]) =>
    make('label', { class: 'field' }, make('span', {}, label), numberField({ id, min, max, step }, value))

  const groups = Map.groupBy(Object.entries(assumptions), ([, { group }]) => group)
  for (const [group, members] of groups)
    document
      .querySelector('#assumptions')
      .append(make('fieldset', {}, make('legend', {}, group), ...members.map(assumptionField)))

  /** A row for each cost, with a field for each machine, which the headers of row and column name. */
  const costRow = ([id, { label, values }]) =>
    make(
      'tr',
      {},
      make('th', { scope: 'row', id }, label),
      ...values.map((value, machine) =>
        make(
          'td',
          {},
          numberField({ min: 0.0001, 'aria-labelledby': `${id} machine-${machine}`, 'data-cost': id }, value),
        ),
      ),
    )
  const machineHeader = ({ name, date }, at) =>
    make('th', { scope: 'col', id: `machine-${at}` }, name, make('small', {}, ` ${date}`))
  document
    .querySelector('#costs')
    .append(
      make('caption', {}, 'Costs'),
      make('thead', {}, make('tr', {}, make('td', {}), ...machines.map(machineHeader))),
      make('tbody', {}, ...Object.entries(costs).map(costRow)),
    )

  /** The numbers in the fields, for each machine. */
  const readNumbers = () => {
    const assumed = Object.keys(assumptions).map((id) => [id, document.getElementById(id).valueAsNumber])
    return machines.map((_, machine) => {
      const measured = Object.keys(costs).map((id) => [
        id,
        document.querySelectorAll(`[data-cost=${id}]`)[machine].valueAsNumber,
      ])
      return Object.fromEntries([...assumed, ...measured])
    })
  }

  /**
   * `values`: the text of each column. Where the window is narrow, the parts of a table are blocks, and would lose their roles; the label is shown
   * instead of the column's header.
   */
  const resultRow = ({ name, words, weight }, columns, values) =>
    make(
      'tr',
      { role: 'row', class: weight },
      make('th', { scope: 'row', role: 'rowheader' }, make('span', {}, name), make('small', {}, words)),
      ...values.map((value, at) => make('td', { role: 'cell', 'data-label': columns[at] }, value)),
    )

  const showResults = (numbers, millions) => {
    const sizes = [10, 100, 1_000, millions]
    const columns = sizes.map((size) => textOf('number', [size * million]))
    const valuesOf = ({ kind, of }) =>
      sizes.map((size) =>
        textOf(
          kind,
          numbers.map((machine, at) => of(numbersOf(size * million, at, machine))),
        ),
      )
    const header = (text, at) =>
      make('th', { scope: 'col', role: 'columnheader' }, text, ...(at === 3 ? [make('small', {}, 'yours')] : []))
    const tableOf = ([group, rows]) =>
      make(
        'table',
        { role: 'table' },
        make('caption', {}, group),
        make(
          'thead',
          { role: 'rowgroup' },
          make('tr', { role: 'row' }, make('td', { role: 'cell' }), ...columns.map(header)),
        ),
        make('tbody', { role: 'rowgroup' }, ...rows.map((row) => resultRow(row, columns, valuesOf(row)))),
      )
    results.replaceChildren(...Object.entries(rowsOf(numbers[0])).map(tableOf))
    status.textContent = `Calculated for ${columns[3]} submissions.`
  }

  /** With a field that is not valid, no result is shown. */
  const update = () => {
    const fields = [...form.querySelectorAll('input')]
    for (const field of fields) field.setAttribute('aria-invalid', String(!field.validity.valid))
    const wrong = fields.find(({ validity }) => !validity.valid)
    status.classList.toggle('problem', wrong !== undefined)
    results.hidden = wrong !== undefined
    if (wrong === undefined) showResults(readNumbers(), own.valueAsNumber)
    else status.textContent = `Not calculated: “${nameOf(wrong)}” must be ${boundsOf(wrong)}.`
  }
  const nameOf = (field) =>
    field.labels[0]?.textContent ??
    document.getElementById(field.getAttribute('aria-labelledby').split(' ')[0]).textContent
  const boundsOf = ({ min, max, step }) => `${step === '1' ? 'a whole number' : 'a number'} from ${min} to ${max}`

  form.addEventListener('input', update)
  form.querySelector('button').addEventListener('click', () => {
    form.reset()
    update()
  })
  update()
}
