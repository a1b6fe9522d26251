import { afterAll, describe, expect, it } from '@jest/globals'
import { getPriority } from 'node:os'
import { readdirSync, readFileSync } from 'node:fs'
import { CpuLimit } from './conversion-limit.js'
import { MarkdownConverter } from './markdown-converter.js'

const converter = new MarkdownConverter()
const withShortLimit = new MarkdownConverter({ cpuLimitMs: 20, threads: 1 })
/** With the usual limits, work of minutes would seem to take two seconds, and no document would finish on a busy machine. */
const withLongLimit = new MarkdownConverter({ cpuLimitMs: 20_000, hardLimitMs: 3_600_000, threads: 1 })
afterAll(() => Promise.all([converter.close(), withShortLimit.close(), withLongLimit.close()]))

const SECTION =
  '<div class="section"><h2>Title</h2><p>The <b>quick</b> brown <a href="https://example.com/?a=1&amp;b=2">fox</a>.</p>' +
  '<ul><li>one</li><li>two <i>three</i></li></ul><table><tr><th>a</th></tr><tr><td>b</td></tr></table></div>\n'
const pageOf = (bytes: number) =>
  `<div><main>${SECTION.repeat(Math.ceil(bytes / SECTION.length))}</main></div>`

/** The threads have a low priority: beside busy processes they get a fiftieth of a core. */
const BUSY_MS = 900_000
const LESS = 8
/** Eight times the input takes 8 times the CPU time, or up to 14 times with garbage collection; quadratic work takes 64 times. */
const MOST_TIMES = 24

/** CPU time for one document. */
async function cpuMsOf(html: string): Promise<number> {
  const result = await withLongLimit.convert(html)
  if ('failure' in result) expect(result.failure).toBe('empty')
  return result.cpuMs
}

describe('MarkdownConverter', () => {
  it('converts in a worker thread, and the event loop goes on meanwhile', async () => {
    let ticks = 0
    const timer = setInterval(() => (ticks += 1), 5)
    expect(await converter.convert('<h1>Résumé 😀</h1>')).toMatchObject({ markdown: '# Résumé 😀' })
    await converter.convert('<p>x</p>'.repeat(5000))
    clearInterval(timer)
    expect(ticks).toBeGreaterThan(1)
  })

  it.each([436, 981])(
    'converts an ordinary page of %i kB, however busy the machine is',
    async (kilobytes) => {
      const result = await converter.convert(pageOf(kilobytes * 1000))
      expect(
        'markdown' in result && result.markdown.startsWith('## Title\n\nThe **quick** brown [fox]'),
      ).toBe(true)
    },
  )

  it('ends a conversion that has used up its CPU time, and converts the next one in the same thread', async () => {
    const result = await withShortLimit.convert(pageOf(1_900_000))
    expect(result).toMatchObject({ failure: 'cpu_limit' })
    expect(await withShortLimit.convert('<p>a</p>', 1000)).toMatchObject({ markdown: 'a' })
  })

  it('refuses more than 2 MiB, counted in bytes', async () => {
    const limit = 2 * 1024 * 1024
    expect(await converter.convert('é'.repeat(limit / 2 + 1))).toMatchObject({ failure: 'too_large' })
    expect(await converter.convert('x'.repeat(limit))).toHaveProperty('markdown')
  })

  // Each of these once took from seconds to minutes.
  it.each([
    ['nested elements', '<div>'.repeat(300_000) + 'x', 'too_deep'],
    ['nested lists', '<ul><li>'.repeat(100_000) + 'x', 'too_deep'],
    ['nested tables', '<table><tr><td>'.repeat(50_000), 'too_deep'],
    ['nested quotations', '<blockquote>'.repeat(100_000) + 'x', 'too_deep'],
    [
      'formatting that is never closed',
      Array.from({ length: 300 }, (_, i) => `<b id=${i}>`).join('') + '<p>'.repeat(100_000),
      'too_deep',
    ],
    [
      'formatting that every paragraph opens again',
      '<p>' + Array.from({ length: 100 }, (_, i) => `<b id=${i}>`).join('') + '<p>x'.repeat(100_000),
      'too_many_nodes',
    ],
    ['many short paragraphs', '<p>a'.repeat(500_000), 'too_many_nodes'],
    ['indentation that multiplies', '<ul><li>'.repeat(100) + 'a<br>'.repeat(200_000), 'too_large'],
    [
      'a link around every word',
      `<a href="https://e.com/${'x'.repeat(5000)}">` + '<p>a'.repeat(10_000),
      'too_large',
    ],
  ])('refuses %s long before its CPU time is used up', async (_name, html, failure) => {
    expect(await converter.convert(html)).toMatchObject({ failure })
  })

  it.each<[string, (share: number) => string]>([
    ['2 MiB of <', (share) => '<'.repeat(2 * 1024 * 1024 * share)],
    ['an endless attribute', (share) => `<a href="${'('.repeat(2_000_000 * share)}">x`],
    [
      'a tag with 300,000 attributes',
      (share) => `<p ${Array.from({ length: 300_000 * share }, (_, i) => i.toString(36)).join(' ')}>x`,
    ],
    ['a flat table', (share) => '<table>' + '<tr><td>a</td></tr>'.repeat(40_000 * share)],
    ['what belongs before a table', (share) => '<table>' + '<i>a</i>'.repeat(60_000 * share)],
    [
      'empty elements side by side, deep down',
      (share) => '<div>'.repeat(100) + '<i></i>'.repeat(100_000 * share),
    ],
    ['more elements than any page', (share) => '<i></i>'.repeat(290_000 * share) + '<p>a'.repeat(100)],
    [
      'white space',
      (share) => `a${'\u00a0'.repeat(500_000 * share)}b${' '.repeat(500_000 * share)}<b> </b>c`,
    ],
    [
      'backticks',
      (share) => `<code>${'`'.repeat(1_000_000 * share)}a${'`'.repeat(1_000_000 * share)}</code>`,
    ],
    ['misnested formatting', (share) => '<b><i><u><p></b></i></u>'.repeat(20_000 * share)],
  ])(
    'takes time in proportion to %s',
    async (_name, documentOf) => {
      const part = documentOf(1 / LESS)
      // The first conversion is slower, because its code is not compiled yet.
      await cpuMsOf(part)
      const partMs = await cpuMsOf(part)
      expect(await cpuMsOf(documentOf(1))).toBeLessThan(MOST_TIMES * partMs)
      expect(await withLongLimit.convert('<p>a</p>')).toMatchObject({ markdown: 'a' })
    },
    BUSY_MS,
  )

  it('reports an empty result for a document that was not empty, and takes an empty one as it is', async () => {
    expect(await converter.convert('<script>a</script>')).toMatchObject({ failure: 'empty' })
    expect(await converter.convert(' ')).toMatchObject({ markdown: ' ' })
  })
})

/** Nice values of this process's threads; field 19 of proc_pid_stat(5), counted behind the name in parentheses. */
const niceOfThreads = () =>
  readdirSync('/proc/self/task').map((id) =>
    Number(readFileSync(`/proc/self/task/${id}/stat`, 'utf8').split(') ')[1]?.split(' ')[16]),
  )

const onLinux = process.platform === 'linux' ? it : it.skip

onLinux('leaves the CPU to everything that somebody waits for, and is not starved by it', async () => {
  await converter.convert('<p>a</p>')
  expect(getPriority()).toBe(Math.min(...niceOfThreads()))
  // A thread of nice 10 gets a tenth of a core that something else keeps busy, one of nice 19 gets 1.5 %.
  expect(Math.max(...niceOfThreads())).toBe(Math.min(getPriority() + 10, 19))
})

describe('a conversion thread that dies', () => {
  const dying = new MarkdownConverter({
    threads: 1,
    worker: new URL('../../test/support/dying-markdown-worker.ts', import.meta.url),
  })
  afterAll(() => dying.close())

  it('costs its own document its conversion, and the next one nothing', async () => {
    expect(await dying.convert('a')).toMatchObject({ markdown: 'a' })
    expect(await dying.convert('die')).toMatchObject({ failure: 'error' })
    expect(await dying.convert('b')).toMatchObject({ markdown: 'b' })
  })
})

describe('CpuLimit', () => {
  it('counts CPU time and not the time that passes', () => {
    let [cpu, wall] = [0, 0]
    const limit = new CpuLimit(
      100,
      () => cpu,
      () => wall,
    )
    wall = 10_000 // the thread got no CPU
    cpu = 50
    limit.check()
    wall = 10_049
    limit.check()
    cpu = 100
    wall = 10_060
    expect(() => limit.check()).toThrow('cpu_limit')
  })
})
