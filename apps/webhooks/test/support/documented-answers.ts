import { expect } from '@jest/globals'
import { documentChecker, refuseWrongAnswers, UNDOCUMENTED } from '@signet/testkit/open-api'
import { internalApiDocument, publicApiDocument } from '../../src/api-docs/api-document.js'
import { internalRoutes, publicRoutes } from '../../src/routes.js'
import type { WebhooksService } from '../../src/serve.js'

type Checker = ReturnType<typeof documentChecker>

/** By the text of the document, because most services of a test file have the same documents. */
const checkers = new Map<string, Checker>()

function checkerOf(document: object): Checker {
  const text = JSON.stringify(document)
  const checker = checkers.get(text) ?? documentChecker(document)
  checkers.set(text, checker)
  return checker
}

const HERE = 'https://hooks.signet.example'

/** Compares every answer of a service with its documents, for every client. */
export function watchDocumented({ ctx, port, internalPort }: WebhooksService, basePath: string) {
  const { undocumented: _, ...families } = publicRoutes(ctx)
  const outside = {
    port,
    basePath,
    fits: checkerOf(publicApiDocument(Object.values(families).flat(), HERE)),
    undocumented: UNDOCUMENTED.webhooks,
  }
  const inside = {
    port: internalPort,
    fits: checkerOf(internalApiDocument(internalRoutes(ctx), HERE)),
    undocumented: UNDOCUMENTED.internal,
  }
  return refuseWrongAnswers([outside, inside], () => expect.getState().currentTestName)
}
