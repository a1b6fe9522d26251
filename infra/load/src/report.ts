import type { Published } from './publisher.js'
import type { Receiver } from './receiver.js'

type Times = { p50: number; p95: number; p99: number; max: number }

export type Report = {
  published: number
  perSecond: number
  accepted: number
  /** By status or error code. */
  refused: Readonly<Record<string, number>>
  /** In ms, from when an event was due. */
  answers: Times
  /** Null without a receiver. */
  arrivals: { arrived: number; missing: number; repeated: number; badSignatures: number; times: Times } | null
}

export function reportOf(
  { accepted, answerMs, refused, seconds }: Published,
  receiver: Pick<Receiver, 'arrived' | 'counts'> | null,
): Report {
  return {
    published: answerMs.length,
    perSecond: rounded(answerMs.length / seconds),
    accepted: accepted.size,
    refused: Object.fromEntries(refused),
    answers: timesOf(answerMs),
    arrivals: receiver && arrivalsOf(accepted, receiver),
  }
}

function arrivalsOf(
  accepted: Published['accepted'],
  { arrived, counts }: Pick<Receiver, 'arrived' | 'counts'>,
): Report['arrivals'] {
  const times = [...accepted].flatMap(([id, due]) => {
    const at = arrived.get(id)
    return at === undefined ? [] : [at - due]
  })
  return {
    arrived: times.length,
    missing: accepted.size - times.length,
    repeated: counts.repeated,
    badSignatures: counts.refused,
    times: timesOf(times),
  }
}

/** Whether everything that was published was accepted and, if arrivals were recorded, has arrived. */
export const isComplete = ({ published, accepted, arrivals }: Report): boolean =>
  accepted === published && (arrivals === null || (arrivals.missing === 0 && arrivals.badSignatures === 0))

export function textOf({ published, perSecond, accepted, refused, answers, arrivals }: Report): string {
  const others = Object.entries(refused).map(([reason, count]) => `, ${count} × ${reason}`)
  const lines = [
    `Published  ${published} events, ${perSecond} a second`,
    `Accepted   ${accepted}${others.join('')}`,
    `Answered   ${timesText(answers)}`,
  ]
  if (arrivals)
    lines.push(
      `Arrived    ${arrivals.arrived}, missing ${arrivals.missing}, repeated ${arrivals.repeated}, with a wrong signature ${arrivals.badSignatures}`,
      `Delivered  ${timesText(arrivals.times)}`,
    )
  return lines.join('\n')
}

const timesText = ({ p50, p95, p99, max }: Times) =>
  `p50 ${p50} ms, p95 ${p95} ms, p99 ${p99} ms, longest ${max} ms`

function timesOf(values: readonly number[]): Times {
  const sorted = [...values].sort((a, b) => a - b)
  const below = (part: number) =>
    rounded(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0)
  return { p50: below(0.5), p95: below(0.95), p99: below(0.99), max: below(1) }
}

const rounded = (value: number) => Math.round(value * 10) / 10
