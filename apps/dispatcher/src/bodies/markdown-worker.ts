import { Script } from 'node:vm'
import { htmlToMarkdown } from './markdown-rules.js'

export type MarkdownJob = { html: string; timeLimitMs: number }
export type MarkdownResult = { markdown: string } | { failure: 'timeout' | 'error' }

let current = ''
const script = new Script('globalThis.convertCurrentHtml()')
Object.assign(globalThis, { convertCurrentHtml: () => htmlToMarkdown(current) })

/**
 * Converts within the time limit. V8 enforces the limit: it interrupts the conversion anywhere and leaves the thread usable.
 * Terminating the thread from outside would also count the time that the job waited for its turn.
 */
export default function convert({ html, timeLimitMs }: MarkdownJob): MarkdownResult {
  current = html
  try {
    return { markdown: script.runInThisContext({ timeout: timeLimitMs }) as string }
  } catch (error) {
    const timedOut = (error as { code?: unknown } | null)?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
    return { failure: timedOut ? 'timeout' : 'error' }
  } finally {
    current = ''
  }
}
