import { describe, expect, it } from '@jest/globals'
import { catalogueFaults, unusedKeys } from './checks.js'
import { textsOf } from './texts.js'
import { dateTimeText, durationText, timestampText } from './times.js'

const catalogues = {
  en: { greeting: 'Hello <b>{name}</b>!', tries: '{count, plural, one {# try} other {# tries}} left' },
  de: { greeting: 'Hallo <b>{name}</b>!', tries: 'Noch {count, plural, one {# Versuch} other {# Versuche}}' },
}

describe('messages', () => {
  const texts = textsOf(catalogues)

  it('know plurals and numbers of their language', () => {
    expect(texts('en')('tries', { count: 1 })).toBe('1 try left')
    expect(texts('de')('tries', { count: 1200 })).toBe('Noch 1.200 Versuche')
  })

  it('give their parts to whoever makes markup of them, and values never become markup', () => {
    const name = '<b>Ada</b> & {count}'
    const parts = texts('de').parts('greeting', { name, b: (inside) => ({ bold: inside.join('') }) })
    expect(parts).toEqual(['Hallo ', { bold: name }, '!'])
  })

  it('refuse to be printed without a value', () => {
    expect(() => texts('en')('tries')).toThrow('count')
  })
})

describe('catalogues', () => {
  it('without faults have none', () => {
    expect(catalogueFaults(catalogues)).toEqual([])
  })

  it('with faults are told each of them', () => {
    const en = { a: 'A', b: '{x} <i>b</i>', c: 'C', d: '{n, plural, one {{x}} other {#}}' }
    const de = { b: '{y}', c: ' C', d: '{n, plural, one {1} other {#}', e: 'E' }
    const faults = catalogueFaults({ en, de }).join('\n')
    expect(faults).toContain('de: a is missing')
    expect(faults).toContain('de: b takes [y] instead of [i, x]')
    expect(faults).toContain('de: c is empty, or has space around it')
    expect(faults).toContain('de: d cannot be read')
    expect(faults).toContain('de: e is in no other language')
  })

  it('have no keys that the code does not name', () => {
    const keys = ['greeting', 'nowhere.' + 'named', 'composed.x']
    const here = new URL('.', import.meta.url)
    expect(unusedKeys(['preferredLanguage' + '?', ...keys], here, ['composed.'])).toEqual([
      'preferredLanguage' + '?',
      'greeting',
      'nowhere.' + 'named',
    ])
    expect(unusedKeys(['minute'], here)).toEqual([])
  })
})

describe('times', () => {
  it.each([
    [1, '1 second', '1 Sekunde'],
    [60, '1 minute', '1 Minute'],
    [90, '90 seconds', '90 Sekunden'],
    [150, '3 minutes', '3 Minuten'],
    [3600, '1 hour', '1 Stunde'],
    [5400, '90 minutes', '90 Minuten'],
    [86_400, '1 day', '1 Tag'],
    [604_800, '7 days', '7 Tage'],
  ])('%d s last %s', (seconds, en, de) => {
    expect(durationText('en', seconds)).toBe(en)
    expect(durationText('de', seconds)).toBe(de)
  })

  it('are dates as people of the language write them', () => {
    const at = new Date('2026-03-04T05:06:07Z')
    expect(dateTimeText('en', at)).toBe('4 March 2026 at 05:06 UTC')
    expect(dateTimeText('de', at)).toBe('4. März 2026 um 05:06 UTC')
  })

  it('are moments to the second where lists need it', () => {
    const at = new Date('2026-03-04T05:06:07.890Z')
    expect(timestampText('en', at)).toBe('2026-03-04 05:06:07 UTC')
    expect(timestampText('de', at)).toBe('04.03.2026, 05:06:07 UTC')
  })
})
