#!/usr/bin/env node
import { processHost } from './command/host.js'
import { runProgram } from './run-program.js'

// `signet … | head` closes the pipe early; that is no failure of ours.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

// Not process.exit: what was written to a pipe is still to be sent.
process.exitCode = await runProgram(processHost(), process.argv.slice(2))
