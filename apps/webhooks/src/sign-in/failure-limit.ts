/** Counts attempts by what they try to open. */
export type FailureLimit = { consume(key: string): Promise<void>; refund(key: string): Promise<void> }

/**
 * Makes an attempt that counts when it fails. It is taken from the budget beforehand, because simultaneous guesses must not
 * all see the last one, and given back when it was right, or when the identity server could not say.
 */
export async function limitFailures<T>(
  { limit, key }: { limit: FailureLimit; key: string },
  attempt: () => Promise<T>,
  hasFailed: (outcome: T) => boolean,
): Promise<T> {
  await limit.consume(key)
  let failed = false
  try {
    const outcome = await attempt()
    failed = hasFailed(outcome)
    return outcome
  } finally {
    if (!failed) await limit.refund(key)
  }
}
