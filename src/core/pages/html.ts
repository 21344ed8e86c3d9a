/** Markup in which every value is escaped. */
export class Html extends String {
  /** Never set. Without it, the compiler would accept any text as `Html`. */
  declare readonly isMarkup: true
}

/** `Html` is inserted as it is, text escaped, lists item by item; null, undefined and booleans as nothing. */
type Value = Html | string | number | boolean | null | undefined | readonly Value[]

/** A tag for templates: escapes values for elements and quoted attributes. */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  return new Html(parts.map((part, at) => part + (at < values.length ? textOf(values[at]) : '')).join(''))
}

function textOf(value: Value): string {
  if (value === undefined || value === null || typeof value === 'boolean') return ''
  if (value instanceof Html) return value.toString()
  if (typeof value === 'object') return value.map(textOf).join('')
  return String(value).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** Only files of the page's own origin, no framing. `more`: further directives, also in place of the first ones. */
export const contentSecurityPolicy = (more: Readonly<Record<string, string>>): string =>
  Object.entries({
    'default-src': "'none'",
    'style-src': "'self'",
    'script-src': "'self'",
    'img-src': "'self'",
    'form-action': "'none'",
    ...more,
    'frame-ancestors': "'none'",
    'base-uri': "'none'",
  })
    .map(([directive, sources]) => `${directive} ${sources}`)
    .join('; ')

export type AssetPaths = { readonly style: string; readonly script: string; readonly icon: string }

type HtmlDocument = {
  /** BCP 47. */
  readonly language: string
  readonly title: string
  readonly assets: Pick<AssetPaths, 'style' | 'icon'>
  readonly head: Html | ''
  readonly brand: { readonly name: string; readonly href: string }
  readonly barEnd: Html
  readonly main: Html
}

export const htmlDocument = ({ language, title, assets, head, brand, barEnd, main }: HtmlDocument): Html =>
  html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="${assets.icon}" type="image/svg+xml">
<link rel="stylesheet" href="${assets.style}">
${head}
</head>
<body>
<header class="bar">
<div class="container hstack justify-between">
<a class="brand unstyled hstack" href="${brand.href}"><img src="${assets.icon}" alt="" width="28" height="28">${brand.name}</a>
<div class="hstack">
${barEnd}
</div>
</div>
</header>
<main class="container">
${main}
</main>
</body>
</html>
`
