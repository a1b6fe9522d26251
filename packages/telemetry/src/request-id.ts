import { randomUUID } from 'node:crypto'

/** What a service knows about its request. Passed as the last argument, because observers need it for the log line. */
export type RequestMeta = { readonly requestId: string }

const newRequestId = (): string => randomUUID()

/** Returns the inherited request id if it is short and safe to print, or a new one. */
export const pickRequestId = (inherited: string | undefined): string =>
  inherited !== undefined && /^[\w.:/+=-]{1,128}$/.test(inherited) ? inherited : newRequestId()
