import { readFileSync } from 'node:fs'
import { expect } from '@jest/globals'
import { documentChecker, refuseWrongAnswers, UNDOCUMENTED } from '@signet/testkit/open-api'

/** The document is current: a test compares it with the routes. */
const fits = documentChecker(
  JSON.parse(readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8')) as object,
)

/** Compares every answer of the service on this port with the document, for every client. */
export const watchDocumented = (port: number) =>
  refuseWrongAnswers(
    [{ port, fits, undocumented: UNDOCUMENTED.auth }],
    () => expect.getState().currentTestName,
  )
