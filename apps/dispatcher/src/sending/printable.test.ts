import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from '@jest/globals'
import { Excerpt, printable } from './printable.js'

describe('printable', () => {
  it.each([
    ['plain', 'plain'],
    ['{"error":"Zoë – 会議 😀"}', '{"error":"Zoë – 会議 😀"}'],
    ['two\r\nlines\tand\u0000 a \u001b[31mcolor', 'two\\r\\nlines\\tand\\u0000 a \\u001b[31mcolor'],
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

  it.each<[string, Buffer, string]>([
    ['text/plain; charset=iso-8859-1', Buffer.from('café au lait', 'latin1'), 'café au lait'],
    ['text/html;charset="ISO-8859-1"', Buffer.from('Müßiggang'.repeat(200), 'latin1'), 'Müßiggang'],
    ['text/plain; charset=UTF-16LE; x=y', Buffer.from('😀 nein', 'utf16le'), '😀 nein'],
    ['text/plain; Charset = shift_jis', Buffer.from([0x83, 0x65, 0x83, 0x58, 0x83, 0x67]), 'テスト'],
    ['', Buffer.from('un café au lait', 'latin1'), 'un caf\ufffd au lait'],
    ['text/plain; charset=none-such', Buffer.from('café au lait'), 'café au lait'],
    ['text/plain; charset=iso-2022-kr', Buffer.from('kept'), 'kept'],
  ])('reads %j in the charset that it names, else as UTF-8', (contentType, bytes, shown) => {
    expect(printable(bytes, contentType).slice(0, shown.length)).toBe(shown)
  })

  it.each<[string, Buffer]>([
    ['the head of an image', Buffer.from([0x47, 0x49, 0x46, 0xff, 0xfe, 0x00])],
    ['bytes that are no character', Buffer.from([0xc0, 0x80])],
    ['compressed data', gzipSync(randomBytes(4000))],
    ['text in another charset that nobody named', Buffer.from([0xcd, 0xe5, 0xf2, 0x2c, 0x20, 0xed, 0xe5])],
    ['UTF-16 that nobody named', Buffer.from('\ud83d\ude00\ud83d\ude00 no', 'utf16le')],
  ])('keeps nothing of %s', (_, bytes) => {
    expect(printable(bytes)).toBe('')
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
