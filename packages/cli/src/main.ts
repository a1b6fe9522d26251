#!/usr/bin/env node
import { processHost } from './command/host.js'
import { runProgram } from './run-program.js'

const host = processHost()
for (const stream of [process.stdout, process.stderr]) stream.on('error', host.outputFailed)

// Not process.exit, which would drop output that is still being written to a pipe.
process.exitCode = await runProgram(host, process.argv.slice(2))
