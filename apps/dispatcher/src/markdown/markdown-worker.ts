import { CpuLimit, LimitExceededError, type ConversionFailure } from './conversion-limit.js'
import { htmlToMarkdown } from './html-to-markdown.js'

export type MarkdownJob = { html: string; cpuLimitMs: number }
/** `cpuMs`: what the conversion has used, however it ended. */
export type MarkdownResult = ({ markdown: string } | { failure: ConversionFailure }) & { cpuMs: number }

export default function convert({ html, cpuLimitMs }: MarkdownJob): MarkdownResult {
  const cpu = new CpuLimit(cpuLimitMs)
  try {
    const markdown = htmlToMarkdown(html, () => cpu.check())
    return { ...(markdown.trim() === '' ? { failure: 'empty' } : { markdown }), cpuMs: cpu.usedMs }
  } catch (error) {
    return { failure: error instanceof LimitExceededError ? error.limit : 'error', cpuMs: cpu.usedMs }
  }
}
