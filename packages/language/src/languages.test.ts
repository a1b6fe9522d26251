import { describe, expect, it } from '@jest/globals'
import { preferredLanguage } from './languages.js'

describe('the language of an answer', () => {
  it.each([
    [undefined, 'en'],
    ['', 'en'],
    ['de', 'de'],
    ['de-AT,de;q=0.9,en;q=0.8', 'de'],
    ['DE-de', 'de'],
    ['en-GB,de;q=0.9', 'en'],
    ['en;q=0.4, de;q=0.9', 'de'],
    ['fr-CH, fr;q=0.9, de;q=0.7, *;q=0.5', 'de'],
    ['fr, *;q=0.5, de;q=0.3', 'en'],
    ['fr', 'en'],
    ['de;q=0, fr', 'en'],
    ['de;q=0.000, en', 'en'],
    ['de;q=nonsense, en;q=0.1', 'en'],
    ['german', 'en'],
    [';;;,,,=q', 'en'],
  ])('for Accept-Language %j is %s', (acceptLanguage, language) => {
    expect(preferredLanguage({ acceptLanguage })).toBe(language)
  })

  it('is what the application asked for, if it is known', () => {
    const acceptLanguage = 'en'
    expect(preferredLanguage({ uiLocales: 'fr-CA de-CH en', acceptLanguage })).toBe('de')
    expect(preferredLanguage({ uiLocales: 'fr', acceptLanguage: 'de' })).toBe('de')
  })

  it('reads only the first wishes of a long header', () => {
    const long = `${'fr,'.repeat(100_000)}de`
    expect(preferredLanguage({ acceptLanguage: long, uiLocales: 'fr '.repeat(100_000) })).toBe('en')
  })
})
