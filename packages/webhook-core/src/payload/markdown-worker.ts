import { Script } from 'node:vm'
import { htmlToMarkdown } from './markdown-rules.js'

export type MarkdownJob = { html: string; timeLimitMs: number }
export type MarkdownResult = { markdown: string } | { failure: 'timeout' | 'error' }

let current = ''
const script = new Script('globalThis.convertCurrentHtml()')
Object.assign(globalThis, { convertCurrentHtml: () => htmlToMarkdown(current) })

/**
 * Converts inside the time limit. The limit is the engine's own: it stops the conversion wherever it is and leaves the thread
 * usable, where ending the thread from outside would also count the time that the job waited for its turn.
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
