type Attempt = { outcome: { kind: string; error?: string }; startedAt: Date; finishedAt: Date }

const MAX_INTEGER = 2 ** 31 - 1

/** An interrupted attempt has an unknown duration and counts as 0: the time since it was due only says when its loss was noticed. */
export const durationMsOf = ({ outcome, startedAt, finishedAt }: Attempt): number =>
  outcome.error === 'interrupted'
    ? 0
    : Math.min(MAX_INTEGER, Math.max(0, finishedAt.getTime() - startedAt.getTime()))
