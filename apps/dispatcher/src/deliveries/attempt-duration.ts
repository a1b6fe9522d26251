type Attempt = { outcome: { kind: string; error?: string }; startedAt: Date; finishedAt: Date }

const MAX_INTEGER = 2 ** 31 - 1

/**
 * Of an interrupted attempt nobody knows how long it took, and it counts as 0: what passed since it was due is the time until its
 * loss was noticed.
 */
export const durationMsOf = ({ outcome, startedAt, finishedAt }: Attempt): number =>
  outcome.error === 'interrupted'
    ? 0
    : Math.min(MAX_INTEGER, Math.max(0, finishedAt.getTime() - startedAt.getTime()))
