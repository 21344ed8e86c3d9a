// Refreshes the status page in place: a reload would lose the focus and scroll positions, and a screen reader would begin to read again.

const deadlineMs = 10_000
const note = document.querySelector('#refresh')
const refreshMs = Number(note.dataset.seconds) * 1_000

/** Makes a node like `next`. Nodes that both have at a place stay in the page, and get only what differs. */
function update(node, next) {
  if (node.nodeName !== next.nodeName) node.replaceWith(next)
  else if (node instanceof Text) {
    if (node.data !== next.data) node.data = next.data
  } else {
    updateAttributes(node, next)
    const [children, nextChildren] = [[...node.childNodes], [...next.childNodes]]
    for (const [at, child] of nextChildren.entries())
      if (at < children.length) update(children[at], child)
      else node.append(child)
    for (const child of children.slice(nextChildren.length)) child.remove()
  }
}

function updateAttributes(node, next) {
  for (const { name } of [...node.attributes]) if (!next.hasAttribute(name)) node.removeAttribute(name)
  for (const { name, value } of next.attributes) if (node.getAttribute(name) !== value) node.setAttribute(name, value)
}

/** The page as the indexer sees the replica now; undefined without an answer, or if a proxy redirects to its sign-in. */
async function readPage() {
  const response = await fetch(location, { signal: AbortSignal.timeout(deadlineMs) })
  return response.ok && !response.redirected ? await response.text() : undefined
}

function showNoAnswer() {
  const text = `No answer since ${document.querySelector('.seen time').textContent} UTC`
  // Even the same text, set again, would be announced again.
  if (note.textContent === text) return
  note.textContent = text
  note.className = 'badge'
  note.dataset.variant = 'danger'
}

async function refreshAgainAndAgain() {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, refreshMs))
    const text = await readPage().catch(() => undefined)
    if (text === undefined) showNoAnswer()
    else {
      const next = new DOMParser().parseFromString(text, 'text/html')
      document.title = next.title
      update(document.body, next.body)
    }
  }
}

// An update fails after a proxy has answered with a page of its own, which lacks `.seen`: the next page is loaded as a whole.
refreshAgainAndAgain().catch(() => location.reload())
