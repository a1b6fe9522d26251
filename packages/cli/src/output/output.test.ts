import { describe, expect, it } from '@jest/globals'
import { paintFor } from './style.js'
import { renderTable } from './table.js'
import { displayWidth, printable, printableJson, readableTime, truncate } from './text.js'

const paint = (_: string, text: string) => text

describe('printable', () => {
  it.each([
    ['\u001b[31mred', '\\u001b[31mred'],
    ['two\nlines', 'two\\u000alines'],
    ['c1 \u009b31m', 'c1 \\u009b31m'],
    ['right\u202eleft', 'right\\u202eleft'],
    ['right\u061cleft', 'right\\u061cleft'],
    ['Café – 会議 😀', 'Café – 会議 😀'],
  ])('shows %j as %j', (text, shown) => {
    expect(printable(text)).toBe(shown)
  })

  it('keeps the value of JSON', () => {
    const value = { text: 'a\u009b\u202e\u001b\n', list: [1, 'é'] }
    const text = printableJson(value, 2)
    expect(JSON.parse(text)).toEqual(value)
    expect([...'\u009b\u202e\u001b'].some((character) => text.includes(character))).toBe(false)
  })
})

describe('truncate', () => {
  it.each([
    ['abcdef', 6, 'abcdef'],
    ['abcdefg', 6, 'abcde…'],
    ['会議会議', 6, '会議…'],
    ['👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦', 5, '👩‍👩‍👧‍👦👩‍👩‍👧‍👦…'],
  ])('cuts %j to %d cells', (text, width, cut) => {
    expect(truncate(text, width)).toBe(cut)
    expect(displayWidth(cut)).toBeLessThanOrEqual(width)
  })
})

describe('renderTable', () => {
  const columns = [
    { header: 'ID', value: ({ id }: { id: string; name: string }) => id },
    { header: 'NAME', value: ({ name }: { id: string; name: string }) => name, flexible: true },
    { header: 'END', value: () => 'x' },
  ]

  it('aligns wide characters by the cells they take', () => {
    const rows = [
      { id: '1', name: '会議' },
      { id: '22', name: 'abc' },
    ]
    expect(renderTable(columns, rows, { paint }).split('\n')).toEqual([
      'ID  NAME  END',
      '1   会議  x',
      '22  abc   x',
    ])
  })

  it('cuts only flexible columns, and only for a terminal', () => {
    const rows = [{ id: '1', name: 'a'.repeat(40) }]
    expect(renderTable(columns, rows, { paint, terminalWidth: 24 })).toContain(`1   ${'a'.repeat(14)}…`)
    expect(renderTable(columns, rows, { paint })).toContain('a'.repeat(40))
  })

  it('has room for the whole of a long log', () => {
    const rows = Array.from({ length: 200_000 }, (_, index) => ({ id: String(index), name: '' }))
    const table = renderTable(columns, rows, { paint })
    expect(table.slice(table.lastIndexOf('\n'))).toBe('\n199999        x')
  })

  it('lets no cell start a new line', () => {
    expect(renderTable(columns, [{ id: '1', name: 'a\nb' }], { paint }).split('\n')).toHaveLength(2)
  })
})

describe('paintFor', () => {
  it.each([
    [{ isTTY: true }, {}, true],
    [{ isTTY: true }, { NO_COLOR: '1' }, false],
    [{ isTTY: true }, { NO_COLOR: '' }, true],
    [{ isTTY: true }, { TERM: 'dumb' }, false],
    [{ isTTY: false }, {}, false],
    [{ isTTY: false }, { FORCE_COLOR: '1' }, true],
    [{ isTTY: true }, { FORCE_COLOR: '0' }, false],
    [{ isTTY: true }, { FORCE_COLOR: '1', NO_COLOR: '1' }, false],
  ])('on %j with %j colors: %s', (stream, env, colors) => {
    expect(paintFor(stream, env)('red', 'x') !== 'x').toBe(colors)
  })
})

describe('readableTime', () => {
  it.each([
    ['2026-01-01T00:00:00.000Z', '2026-01-01 00:00:00Z'],
    ['', '-'],
    ['soon', 'soon'],
  ])('shows %j as %j', (iso, shown) => {
    expect(readableTime(iso)).toBe(shown)
  })
})
