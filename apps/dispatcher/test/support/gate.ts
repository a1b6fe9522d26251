export type Gate = { opened: Promise<void>; open: () => void }

/** A promise that the test resolves, for a receiver that replies only after something else happened. */
export function gate(): Gate {
  let open: () => void = () => undefined
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { opened, open }
}
