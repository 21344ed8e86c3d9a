// Everything works without this file; it makes some of it more pleasant.

const agoUnits = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
]

/** Says how long ago something was, where the page gives the moment. */
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
  for (const button of document.querySelectorAll('button[data-copy]')) {
    const source = document.getElementById(button.dataset.copy)
    const status = document.getElementById('copy-status')
    const say = (text) => {
      status.textContent = text
    }
    const giveUp = () => {
      getSelection().selectAllChildren(source)
      say(button.dataset.notCopied)
    }
    button.hidden = false
    button.addEventListener('click', () => {
      // Browsers have a clipboard for pages of safe origins alone.
      const copied = navigator.clipboard?.writeText(source.textContent) ?? Promise.reject(new Error('no clipboard'))
      copied.then(() => say(button.dataset.copied), giveUp)
    })
  }
}

/** A form that is on its way is not sent again; one that the browser brings back from its memory is usable again. */
const sendOnce = () => {
  addEventListener('submit', ({ submitter }) => {
    // Not at once: a button that is disabled while its form is sent would be left out of it.
    setTimeout(() => {
      if (submitter !== null) submitter.disabled = true
    })
  })
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) for (const button of document.querySelectorAll('button:disabled')) button.disabled = false
  })
}

/** What was just done is not told again when the page is loaded again. */
const forgetNotice = () => {
  const url = new URL(location.href)
  if (!url.searchParams.has('notice')) return
  url.searchParams.delete('notice')
  history.replaceState(null, '', url)
}

writeAgo()
setInterval(writeAgo, 30_000)
offerCopying()
sendOnce()
forgetNotice()
