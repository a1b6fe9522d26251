/**
 * Ends a command with one line instead of a stack trace when its output cannot be written. For output that a person reads: with `…
 * --help | head` nothing has failed, so the command continues and ends with its own exit code.
 */
export function reportOutputFailures(): void {
  for (const stream of [process.stdout, process.stderr])
    if (!stream.listeners('error').includes(outputFailed)) stream.on('error', outputFailed)
}

function outputFailed({ code = 'unknown error' }: NodeJS.ErrnoException): void {
  if (code === 'EPIPE') return
  process.stderr.write(`The output cannot be written (${code})\n`)
  process.exit(1)
}
