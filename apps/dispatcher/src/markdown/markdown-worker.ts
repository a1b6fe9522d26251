import { getPriority, setPriority } from 'node:os'
import { CpuLimit, LimitExceededError, type ConversionFailure } from './conversion-limit.js'
import { htmlToMarkdown } from './html-to-markdown.js'

export type MarkdownJob = { html: string; cpuLimitMs: number }
/** `cpuMs`: what the conversion has used, however it ended. */
export type MarkdownResult = ({ markdown: string } | { failure: ConversionFailure }) & { cpuMs: number }

/**
 * Nobody waits for a conversion. At equal priority two threads that convert take both cores of a small machine from the event loops, and
 * events without any HTML wait as well. A thread of nice 10 still gets a tenth of a core that something else keeps busy.
 */
const BELOW_THE_SERVICE = 10
const LOWEST = 19

// Only on Linux is this the priority of the calling thread; elsewhere it would slow the whole process.
if (process.platform === 'linux') setPriority(Math.min(getPriority() + BELOW_THE_SERVICE, LOWEST))

export default function convert({ html, cpuLimitMs }: MarkdownJob): MarkdownResult {
  const cpu = new CpuLimit(cpuLimitMs)
  try {
    const markdown = htmlToMarkdown(html, () => cpu.check())
    return { ...(markdown.trim() === '' ? { failure: 'empty' } : { markdown }), cpuMs: cpu.usedMs }
  } catch (error) {
    return { failure: error instanceof LimitExceededError ? error.limit : 'error', cpuMs: cpu.usedMs }
  }
}
