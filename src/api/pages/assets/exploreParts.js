export const byId = (id) => document.getElementById(id)
export const choices = byId('choices')
export const say = JSON.parse(choices.dataset.texts)
export const number = new Intl.NumberFormat(say.language, { maximumFractionDigits: 1 })

/** An element with properties and content. Text is never parsed as markup. */
export const element = (name, properties, ...content) => {
  const made = Object.assign(document.createElement(name), properties)
  made.append(...content)
  return made
}

/** The name of a series. */
export const nameOf = ({ key, others }) =>
  others === undefined ? (key ?? say.none) : say.others.replace('%', number.format(others))

/** A patch in the colour of series number `at`. Its style is set by script, because the page's policy forbids styles in markup. */
export const swatch = (at, { others }) =>
  element('i', { style: `--at: ${at}`, className: others === undefined ? '' : 'others' })
