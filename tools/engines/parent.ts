const pollMs = 500

/** Calls `gone` once when the process that started this one has ended, however it ended. */
export const watchParent = (gone: () => void): void => {
  const parent = process.ppid
  const poll = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(poll)
    gone()
  }, pollMs)
  poll.unref()
}
