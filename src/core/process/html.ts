import { html } from 'hono/html'

/** Tagged template for markup; escapes every value that is not markup itself. */
export { html }

/** Markup in which every value is escaped. */
export type Html = ReturnType<typeof html>

type HtmlDocument = {
  readonly language: string
  readonly title: string
  /** URL paths of the icon and the style sheet. */
  readonly assets: { readonly icon: string; readonly style: string }
  /** Further elements of `<head>`. */
  readonly head: Html | ''
  /** The name at the start of the bar on top, and where it leads. */
  readonly brand: { readonly name: string; readonly href: string }
  /** What stands at the end of the bar on top. */
  readonly barEnd: Html
  readonly main: Html
}

/** A whole document in the frame that all pages for people share. */
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
<div class="bar-inner">
<a class="brand" href="${brand.href}"><img src="${assets.icon}" alt="" width="28" height="28"><span>${brand.name}</span></a>
<div class="bar-end">
${barEnd}
</div>
</div>
</header>
<main>
${main}
</main>
</body>
</html>
`
