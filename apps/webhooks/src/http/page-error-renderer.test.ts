import { describe, expect, it } from '@jest/globals'
import { AppError, type ErrorKind } from '@signet/errors'
import type { Page } from '@signet/pages'
import type { Request } from 'express'
import { PageError, type PageErrorKey } from '../errors/page-error.js'
import type { PageResponder } from '../pages/page-responder.js'
import { pageCatalogues, textsIn } from '../pages/texts.js'
import { pageErrorRenderer } from './page-error-renderer.js'

const responder = {
  path: (below: string) => below,
  render: ({ title, body }: Page) => ({ status: 200, body: [title, body.text].join('\n') }),
} as unknown as PageResponder
const renderer = pageErrorRenderer({ oauthError: () => undefined }, responder)

const reader = (accepts: 'html' | false) =>
  ({
    get: (name: string) => (name === 'accept-language' ? 'de' : undefined),
    accepts: () => accepts,
  }) as unknown as Request

const inGerman = (error: AppError) => String(renderer.render(error, reader('html')).body)
const forPrograms = (error: AppError) => renderer.render(error, reader(false)).body

const keys = Object.keys(pageCatalogues.en).filter((key): key is PageErrorKey =>
  /^error\.(?!title\.|start$|wait$)/.test(key),
)

describe('an error that brings its text', () => {
  it.each(keys)('is in the language of the reader, and programs get English: %s', (key) => {
    const error = new PageError('invalid', 'invalid_request', key)
    expect(inGerman(error)).toContain(textsIn('de')(key))
    expect(forPrograms(error)).toEqual({
      error: 'invalid_request',
      error_description: textsIn('en')(key),
    })
  })
})

describe('an error of another part of the service', () => {
  const reworded = 'A message that somebody has reworded'

  it.each<ErrorKind>([
    'not_found',
    'method_not_allowed',
    'gone',
    'too_large',
    'limited',
    'unavailable',
    'late',
    'timeout',
    'internal',
  ])('is explained by its kind, whatever its message: %s', (kind) => {
    const text = inGerman(new AppError(kind, 'some_code', reworded, { retryAfterSeconds: 5 }))
    expect(text).not.toContain(reworded)
    expect(text).toContain('Sie können es in 5 Sekunden noch einmal versuchen.')
  })

  it.each<ErrorKind>(['invalid', 'unauthenticated', 'forbidden', 'conflict', 'unprocessable'])(
    'about a request of an application has its message, for the developer: %s',
    (kind) => {
      expect(inGerman(new AppError(kind, 'some_code', reworded))).toContain(reworded)
    },
  )
})

it('has a title for what happens to people', () => {
  const title = (error: AppError) => inGerman(error).split('\n', 1)[0]
  expect(
    [
      new PageError('invalid', 'invalid_request', 'error.over'),
      new PageError('forbidden', 'access_denied', 'error.signed-out'),
      new PageError('forbidden', 'access_denied', 'error.form'),
      new AppError('invalid', 'invalid_request', 'client_id must be sent exactly once'),
    ].map(title),
  ).toEqual([
    'Diese Anfrage ist nicht mehr offen',
    'Sie sind abgemeldet',
    'Diese Anfrage wurde abgelehnt',
    'Etwas ist schiefgegangen',
  ])
})
