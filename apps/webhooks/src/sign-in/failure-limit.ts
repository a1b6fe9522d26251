/** Counts attempts per key, such as an account. */
export type FailureLimit = { consume(key: string): Promise<void>; refund(key: string): Promise<void> }

/**
 * Makes an attempt that counts only if it fails. It is counted in advance, because parallel guesses must not all pass as the
 * last one allowed, and refunded if it succeeds or if the identity server cannot tell.
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
