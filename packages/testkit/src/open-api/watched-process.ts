import { appendFileSync, readFileSync } from 'node:fs'
import { documentChecker } from './document-checker.js'
import { watchAnswers } from './watch-answers.js'
import type { WatchedProcess } from './watch-process.js'

// Imported by a service before its own modules, where a test runs it as a separate process: see watch-process.ts.

const { report, services } = JSON.parse(process.env['SIGNET_WATCHED_ANSWERS'] ?? '') as WatchedProcess

type Checker = ReturnType<typeof documentChecker>

/** Reads the document with the first answer of the service: many processes only say that they are healthy. */
function checkerOf(document: string): Checker {
  let checker: Checker | undefined
  return (...answer) => {
    checker ??= documentChecker(JSON.parse(readFileSync(document, 'utf8')) as object)
    checker(...answer)
  }
}

watchAnswers(
  services.map(({ port, document, undocumented }) => ({
    port,
    fits: checkerOf(document),
    undocumented: new RegExp(undocumented),
  })),
  (problem) => appendFileSync(report, `${problem}\n`),
)
