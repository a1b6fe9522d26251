/**
 * Makes the clock wrong for all code that the test file loads. Returns a function that corrects it. Steady clocks, timers and other
 * processes are not affected.
 */
export function shiftSystemClock(offsetMs: number): () => void {
  const RightDate = Date
  const now = () => RightDate.now() + offsetMs
  globalThis.Date = new Proxy(RightDate, {
    construct: (target, given: unknown[], newTarget) =>
      Reflect.construct(target, given.length === 0 ? [now()] : given, newTarget) as object,
    apply: () => new RightDate(now()).toString(),
    get: (target, name, receiver) =>
      name === 'now' ? now : (Reflect.get(target, name, receiver) as unknown),
  })
  return () => {
    globalThis.Date = RightDate
  }
}
