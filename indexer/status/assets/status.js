// Optional: replaces the content of the page instead of reloading it, which keeps the scroll position.

const seconds = Number(document.currentScript.dataset.seconds)

const refresh = async () => {
  // A refresh would lose the text that a person has selected.
  if (!getSelection().isCollapsed || document.hidden) return
  const main = document.querySelector('main')
  try {
    const answer = await fetch(location.href, { signal: AbortSignal.timeout(4_000) })
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
    main.replaceWith(page.querySelector('main'))
    document.title = page.title
  } catch {
    main.querySelector('.lost').hidden = false
  }
}

setInterval(() => {
  refresh().catch(() => undefined)
}, seconds * 1_000)
