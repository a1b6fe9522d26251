import { describe, expect, it } from '@jest/globals'
import { AddressFormatError } from '../../addresses/address.js'
import { errorRenderer } from '../../requests/error-renderer.js'
import { uiTextsIn } from '../texts.js'
import { refusalText } from './refusals.js'

describe('the text of a refusal by the API', () => {
  it.each([
    [new AddressFormatError('email'), 'Das ist keine vollständige E-Mail-Adresse. Bitte prüfen Sie sie.'],
    [
      new AddressFormatError('phone'),
      'Das ist keine vollständige Telefonnummer. Sie beginnt mit + und der Vorwahl des Landes.',
    ],
    [errorRenderer.notFound(), 'Unter dieser Adresse gibt es nichts.'],
  ])('does not depend on its message: %s', (error, text) => {
    expect(refusalText(uiTextsIn('de'), error)).toBe(text)
    error.message = 'A message in other words'
    expect(refusalText(uiTextsIn('de'), error)).toBe(text)
  })
})
