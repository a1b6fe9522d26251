import type { MarkdownJob, MarkdownResult } from '../../src/markdown/markdown-worker.js'

/** Converts nothing, and ends its thread for the document `die`. */
export default function convert({ html }: MarkdownJob): MarkdownResult {
  if (html === 'die') process.exit(1)
  return { markdown: html, cpuMs: 0 }
}
