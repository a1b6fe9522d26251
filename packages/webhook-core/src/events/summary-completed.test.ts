import fc from 'fast-check'
import { describe, expect, it } from '@jest/globals'
import { newEventId } from '../ids.js'
import { withinTargetSize, type SummaryCompleted, type SummaryCompletedData } from './summary-completed.js'
import { longestEscapedPrefix } from './json-size.js'
import { PAYLOAD_TARGET_BYTES as T } from '../recordings/target-size.js'

const id = newEventId(new Date(0))
const envelope = (data: Partial<SummaryCompletedData>): SummaryCompleted => ({
  id,
  type: 'summary.completed',
  created_at: '2026-01-01T00:00:00.000Z',
  data: { audio_id: 'rec_1001', ...data },
})
const size = (value: unknown) => Buffer.byteLength(typeof value === 'string' ? value : JSON.stringify(value))
const dataOf = (json: string) => (JSON.parse(json) as SummaryCompleted).data
const transcript = (text: string, more: object = {}) => ({ text, truncated: false, ...more })
const summaries = [{ label: 'Summary', content: 'x', format: 'markdown' }]

/** An ASCII text that makes the envelope with it exactly `bytes` long. */
const filling = (bytes: number, data: Partial<SummaryCompletedData> = {}) =>
  'x'.repeat(bytes - size(envelope({ ...data, transcript: transcript('') })))

// One of each kind of code point that JSON writes differently, including lone surrogates and U+2028.
const characters = [
  'a',
  '"',
  '\\',
  '\n',
  '\b',
  '\u0001',
  '\u001f',
  '\u007f',
  'é',
  '會',
  '\u2028',
  '😀',
  '\ud800',
  '\udc00',
]
const texts = fc.array(fc.constantFrom(...characters), { maxLength: 60 }).map((parts) => parts.join(''))
const escapedSize = (text: string) => size(JSON.stringify(text)) - 2

describe('longestEscapedPrefix', () => {
  it('gives the documented example', () => {
    expect(longestEscapedPrefix('a"é😀b', 8)).toBe('a"é')
    expect(longestEscapedPrefix('a"é😀b', 9)).toBe('a"é😀')
  })

  it('takes as many whole code points as fit into the escaped bytes, and not one more', () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: -5, max: 400 }), (text, budget) => {
        const prefix = longestEscapedPrefix(text, budget)
        expect(text.startsWith(prefix)).toBe(true)
        const points = [...text]
        const taken = [...prefix].length
        expect(points.slice(0, taken).join('')).toBe(prefix)
        if (taken > 0) expect(escapedSize(prefix)).toBeLessThanOrEqual(budget)
        const next = points.slice(0, taken + 1).join('')
        if (taken < points.length) expect(escapedSize(next)).toBeGreaterThan(budget)
      }),
      { numRuns: 2000 },
    )
  })
})

describe('withinTargetSize', () => {
  it('leaves an envelope of exactly the target as it is, and cuts one byte more', () => {
    const whole = envelope({ transcript: transcript(filling(T)), summaries: undefined })
    expect(size(whole)).toBe(T)
    expect(withinTargetSize(whole)).toBe(JSON.stringify(whole))

    const over = envelope({ transcript: transcript(filling(T + 1)) })
    const cut = withinTargetSize(over)
    expect(dataOf(cut).transcript?.truncated).toBe(true)
    // The budget is computed with `false`, which is one byte longer than the `true` in the output.
    expect(size(cut)).toBe(T - 1)
  })

  it('drops the segments alone when that is enough, and says nothing of truncation', () => {
    const segments = [{ speaker: 'A', start: 0, end: 1, text: 'hi' }]
    const text = filling(T)
    const frozen = withinTargetSize(envelope({ transcript: transcript(text, { segments }) }))
    expect(dataOf(frozen).transcript).toEqual({ text, truncated: false })
    expect(size(frozen)).toBe(T)
  })

  it('drops the segments and cuts the text when both are too long', () => {
    const segments = [{ speaker: 'A', start: 0, end: 1, text: 'x'.repeat(T) }]
    const frozen = withinTargetSize(
      envelope({ transcript: { language: 'en', ...transcript(filling(T + 5000), { segments }) }, summaries }),
    )
    expect(Object.keys(dataOf(frozen).transcript ?? {})).toEqual(['language', 'text', 'truncated'])
    expect(dataOf(frozen).summaries).toEqual(summaries)
    expect(size(frozen)).toBe(T - 1)
  })

  it('empties the text when the summaries alone are over the target, and never touches them', () => {
    const big = [{ label: 'Summary', content: 'é'.repeat(T), format: 'markdown' }]
    const frozen = withinTargetSize(envelope({ transcript: transcript('hello'), summaries: big }))
    expect(dataOf(frozen).transcript).toEqual({ text: '', truncated: true })
    expect(dataOf(frozen).summaries).toEqual(big)
    expect(size(frozen)).toBeGreaterThan(T)
  })

  it('leaves an envelope without transcript alone however long it is', () => {
    const big = envelope({ summaries: [{ label: 'a', content: 'x'.repeat(2 * T), format: 'markdown' }] })
    expect(withinTargetSize(big)).toBe(JSON.stringify(big))
  })

  it('hits the boundary for any characters at the cut: at most the target, and the next one would not fit', () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: -20, max: 20 }), fc.boolean(), (tail, offset, withSegments) => {
        const segments = withSegments ? [{ speaker: 'A', start: 0, end: 1, text: tail }] : undefined
        // The filling ends near the boundary, so that the cut falls somewhere in `tail`.
        const filled = filling(T + offset - 60, { summaries })
        const text = filled + tail + '"é😀'.repeat(40)
        const given = envelope({ transcript: transcript(text, { segments }), summaries })
        const frozen = withinTargetSize(given)
        const kept = dataOf(frozen).transcript?.text ?? ''
        expect(size(frozen)).toBeLessThanOrEqual(T)
        expect(text.startsWith(kept)).toBe(true)
        if (kept === text) return
        expect(dataOf(frozen).transcript?.truncated).toBe(true)
        const next = text.slice(0, kept.length + ((text.codePointAt(kept.length) ?? 0) > 0xffff ? 2 : 1))
        expect(size(envelope({ transcript: transcript(next), summaries }))).toBeGreaterThan(T)
        // The cut splits no code point: the kept code points are the first ones of the text.
        // Compared after the filling only, which is ASCII and cannot be split.
        const [end, whole] = [kept, text].map((each) => [...each.slice(filled.length)])
        expect(whole?.slice(0, end?.length)).toEqual(end)
      }),
      { numRuns: 25 },
    )
  })
})
