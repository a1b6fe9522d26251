import { readFileSync } from 'node:fs'
import { expect } from '@jest/globals'
import { documentChecker, refuseWrongAnswers, UNDOCUMENTED } from '@signet/testkit/open-api'

/** Another test keeps the document current by comparing it with the routes. */
const fits = documentChecker(
  JSON.parse(readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8')) as object,
)

/** Compares every answer from this port with the document, whichever client sent the request. */
export const watchDocumented = (port: number) =>
  refuseWrongAnswers(
    [{ port, fits, undocumented: UNDOCUMENTED.auth }],
    () => expect.getState().currentTestName,
  )
