type ErrorShape = Partial<Record<'name' | 'message' | 'code' | 'cause' | 'errors', unknown>>

/** Checks shape instead of class: aborts are DOMExceptions, and libraries have their own error classes. */
export function shapeOf(error: unknown): ErrorShape {
  return typeof error === 'object' && error !== null ? error : {}
}

/** What an error without a code wraps: the first of several addresses that were tried (AggregateError), or its cause. */
export const wrappedIn = ({ errors, cause }: ErrorShape): unknown =>
  Array.isArray(errors) ? (errors as unknown[])[0] : cause
