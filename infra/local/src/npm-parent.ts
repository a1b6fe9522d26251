const POLL_MS = 500

/** npm does not forward every signal, and none when it is killed: once it is gone, nobody needs this process. */
export function whenNpmIsGone(then: () => void): void {
  const npm = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === npm) return
    clearInterval(timer)
    then()
  }, POLL_MS)
  timer.unref()
}
