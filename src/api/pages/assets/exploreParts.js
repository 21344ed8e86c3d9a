// The files of `/explore` are joined to one module, in the order of `pages.ts`. So each uses the names of the files before it, and imports nothing.

export const byId = (id) => document.getElementById(id)
/** The form of the page. */
export const choices = byId('choices')
/** The texts of the page in its language (`texts.ts`). */
export const texts = JSON.parse(choices.dataset.texts)
export const number = new Intl.NumberFormat(texts.language, { maximumFractionDigits: 1 })

/** Makes an element with properties and content. Text is never parsed as markup. */
export const element = (name, properties, ...content) => {
  const newElement = Object.assign(document.createElement(name), properties)
  newElement.append(...content)
  return newElement
}

/** The name of a series (`series.js`): its value, or the text for several or missing values. */
export const nameOf = ({ key, others }) =>
  others === undefined ? (key ?? texts.none) : texts.others.replace('%', number.format(others))

/** A patch in the colour of a series, which depends on its index. Its style is set by script, because the page's policy forbids styles in markup. */
export const swatch = (index, { others }) =>
  element('i', { style: `--index: ${index}`, className: others === undefined ? '' : 'others' })
