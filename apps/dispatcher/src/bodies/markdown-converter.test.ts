import { afterAll, describe, expect, it } from '@jest/globals'
import { MarkdownConverter } from './markdown-converter.js'

const converter = new MarkdownConverter()
const hurried = new MarkdownConverter({ timeLimitMs: 200, threads: 1 })
afterAll(() => Promise.all([converter.close(), hurried.close()]))

/** Takes more than a second: the converter looks through the whole rest of the tree at every level. */
const slow = '<ul><li>'.repeat(3000) + 'x'

describe('MarkdownConverter', () => {
  it('converts in a worker thread, and the event loop goes on meanwhile', async () => {
    let ticks = 0
    const timer = setInterval(() => (ticks += 1), 5)
    expect(await converter.convert('<h1>Résumé 😀</h1>')).toEqual({ markdown: '# Résumé 😀' })
    await converter.convert('<p>x</p>'.repeat(5000))
    clearInterval(timer)
    expect(ticks).toBeGreaterThan(1)
  })

  it('stops a conversion at the time limit and converts the next one in the same thread', async () => {
    await hurried.convert('<p>warm</p>')
    expect(await hurried.convert(slow)).toEqual({ failure: 'timeout' })
    expect(await hurried.convert('<p>a</p>')).toEqual({ markdown: 'a' })
  })

  it('counts the limit for the conversion alone, not for the wait behind others', async () => {
    const waiting = Array.from({ length: 5 }, () => hurried.convert(slow))
    expect(await hurried.convert('<p>a</p>')).toEqual({ markdown: 'a' })
    expect(await Promise.all(waiting)).toEqual(waiting.map(() => ({ failure: 'timeout' })))
  })

  it('refuses more than 2 MiB, counted in bytes', async () => {
    const limit = 2 * 1024 * 1024
    expect(await converter.convert('é'.repeat(limit / 2 + 1))).toEqual({ failure: 'too_large' })
    expect(await converter.convert('x'.repeat(limit))).toHaveProperty('markdown')
  })

  it.each([
    ['10,000 elements deep', '<div>'.repeat(10_000) + 'x'],
    ['10,000 lists deep', '<ul><li>'.repeat(10_000) + 'x'],
    ['2 MiB of <', '<'.repeat(2 * 1024 * 1024)],
    ['an endless attribute', `<a href="${'('.repeat(500_000)}">x`],
    ['half a table', '<table><tr><td><table>'.repeat(2000)],
  ])('survives %s and says how it ended', async (_name, html) => {
    const outcome = await converter.convert(html)
    expect('markdown' in outcome || ['timeout', 'error', 'empty'].includes(outcome.failure)).toBe(true)
    expect(await converter.convert('<p>a</p>')).toEqual({ markdown: 'a' })
  })

  it('reports an empty result for a document that was not empty, and takes an empty one as it is', async () => {
    expect(await converter.convert('<script>a</script>')).toEqual({ failure: 'empty' })
    expect(await converter.convert(' ')).toEqual({ markdown: ' ' })
  })
})
