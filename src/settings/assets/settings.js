// Optional: every page works without JavaScript.

const agoUnits = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
]

/** Replaces the time in every `<time data-ago>` by how long ago it was. */
const writeAgo = () => {
  const format = new Intl.RelativeTimeFormat(document.documentElement.lang, { numeric: 'auto' })
  for (const time of document.querySelectorAll('time[data-ago]')) {
    const passedMs = Date.now() - Date.parse(time.dateTime)
    const [unit, unitMs] = agoUnits.find(([, ms]) => passedMs >= ms) ?? ['minute', 60_000]
    time.title ||= time.textContent
    time.textContent = format.format(-Math.max(0, Math.floor(passedMs / unitMs)), unit)
  }
}

const offerCopying = () => {
  const button = document.querySelector('button[data-copy]')
  if (button === null) return
  const source = document.getElementById(button.dataset.copy)
  const say = (text) => {
    document.getElementById('copy-status').textContent = text
  }
  const giveUp = () => {
    getSelection().selectAllChildren(source)
    say(button.dataset.notCopied)
  }
  button.hidden = false
  button.addEventListener('click', () => {
    // Browsers offer the clipboard to secure origins only.
    const copied = navigator.clipboard?.writeText(source.textContent) ?? Promise.reject(new Error('no clipboard'))
    copied.then(() => say(button.dataset.copied), giveUp)
  })
}

/** Removes the notice from the URL, so that a reload does not repeat it. */
const forgetNotice = () => {
  const url = new URL(location.href)
  if (!url.searchParams.has('notice')) return
  url.searchParams.delete('notice')
  history.replaceState(null, '', url)
}

writeAgo()
setInterval(writeAgo, 30_000)
offerCopying()
forgetNotice()
