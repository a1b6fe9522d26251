import { appendFileSync, readFileSync } from 'node:fs'
import { documentChecker } from './document-checker.js'
import { watchAnswers } from './watch-answers.js'
import type { WatchedProcess } from './watch-process.js'

// A service that a test runs as a separate process imports this before its own modules: see watch-process.ts.

const { report, services } = JSON.parse(process.env['SIGNET_WATCHED_ANSWERS'] ?? '') as WatchedProcess

type Checker = ReturnType<typeof documentChecker>

/** Reads the document only when there is an answer to check: many processes answer nothing but health checks. */
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
