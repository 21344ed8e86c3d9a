// Optional: every page works without JavaScript.

// Shows the button that copies a new key. If the browser refuses to copy, selects the key.
const offerCopying = () => {
  const button = document.querySelector('button[data-copy]')
  if (button === null) return
  const source = document.getElementById(button.dataset.copy)
  const announce = (text) => {
    document.getElementById('copy-status').textContent = text
  }
  const giveUp = () => {
    getSelection().selectAllChildren(source)
    announce(button.dataset.notCopied)
  }
  button.hidden = false
  button.addEventListener('click', () => {
    // Browsers offer the clipboard to secure origins only.
    const copied = navigator.clipboard?.writeText(source.textContent) ?? Promise.reject(new Error('no clipboard'))
    copied.then(() => announce(button.dataset.copied), giveUp)
  })
}

offerCopying()
