import type { Paint } from '../output/style.js'
import { printable } from '../output/text.js'
import type { Answer } from './forward.js'

const SHOWN_LINES = 10

/** The application's answer in one line, followed by the beginning of its body. */
export function answerText(target: URL, answer: Answer, paint: Paint): string {
  const took = paint('dim', `in ${answer.durationMs} ms`)
  if (answer.status === undefined) {
    return `${paint('red', `→ ${target.href} did not respond: ${printable(answer.reason)}`)}  ${took}\n`
  }
  const status = paint(isSuccess(answer) ? 'green' : 'red', `→ ${target.href} answered ${answer.status}`)
  const body = answer.body.split('\n').slice(0, SHOWN_LINES).map(printable).join('\n').trimEnd()
  return `${status}  ${took}\n${body === '' ? '' : `${body}\n`}`
}

/** The same as JSON. Without an answer, `status` is null and `reason` says why. */
export function answerJson(target: URL, answer: Answer) {
  const { durationMs: duration_ms } = answer
  return answer.status === undefined
    ? { url: target.href, status: null, duration_ms, reason: answer.reason }
    : { url: target.href, status: answer.status, duration_ms, body: answer.body }
}

export const isSuccess = ({ status }: Answer): boolean =>
  status !== undefined && status >= 200 && status <= 299
