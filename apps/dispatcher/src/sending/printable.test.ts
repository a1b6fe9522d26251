import { describe, expect, it } from '@jest/globals'
import { Excerpt, printable } from './printable.js'

describe('printable', () => {
  it.each([
    ['plain', 'plain'],
    ['{"error":"Zoë – 会議 😀"}', '{"error":"Zoë – 会議 😀"}'],
    ['two\r\nlines\tand\u0000 a \u001b[31mcolour', 'two\\r\\nlines\\tand\\u0000 a \\u001b[31mcolour'],
    ['a\u202eb\u2066c\u2069\u200e\u061c\u0085\ufeff', 'a\\u202eb\\u2066c\\u2069\\u200e\\u061c\\u0085\\ufeff'],
    ['tag \u{e0041} joined\u200d', 'tag \\u{e0041} joined\\u200d'],
    ['', ''],
  ])('%j becomes %j', (text, shown) => {
    expect(printable(Buffer.from(text))).toBe(shown)
  })

  it('keeps 1 KiB and leaves out a character that is cut in the middle', () => {
    expect(printable(Buffer.from('x'.repeat(5000)))).toBe('x'.repeat(1024))
    expect(printable(Buffer.from(`${'x'.repeat(1022)}😀`))).toBe('x'.repeat(1022))
  })

  it('keeps nothing that is not UTF-8', () => {
    expect(printable(Buffer.from([0x47, 0x49, 0x46, 0xff, 0xfe, 0x00]))).toBe('')
    expect(printable(Buffer.from('café au lait', 'latin1'))).toBe('')
    expect(printable(Buffer.from([0xc0, 0x80]))).toBe('')
  })

  it('is never longer than the column, whatever comes', () => {
    for (const text of ['\u0000', '\u202e', '\u0085', '"'])
      expect(Buffer.byteLength(printable(Buffer.from(text.repeat(3000))))).toBeLessThanOrEqual(16_384)
  })
})

it('an excerpt is what came first, whatever the chunks, and survives their reuse', () => {
  const excerpt = new Excerpt()
  expect([excerpt.toString(), excerpt.isFull]).toEqual(['', false])
  const chunk = Buffer.from('abc')
  excerpt.add(chunk)
  chunk.fill('x')
  excerpt.add(Buffer.from('d'.repeat(2000)))
  excerpt.add(Buffer.from('later'))
  expect([excerpt.toString(), excerpt.isFull]).toEqual([`abc${'d'.repeat(1021)}`, true])
})
