#!/usr/bin/env node
import { processHost } from './command/host.js'
import { runProgram } from './run-program.js'

const host = processHost()
for (const stream of [process.stdout, process.stderr]) stream.on('error', host.outputFailed)

// Not process.exit: what was written to a pipe is still to be sent.
process.exitCode = await runProgram(host, process.argv.slice(2))
