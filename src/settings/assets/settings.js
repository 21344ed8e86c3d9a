// Optional: every page works without JavaScript.

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

offerCopying()
