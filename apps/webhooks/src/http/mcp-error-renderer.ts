import { AppError, type ErrorKind } from '@signet/errors'
import type { ErrorRenderer } from '@signet/http'
import { v1ErrorRenderer } from './v1-error-renderer.js'

/** JSON-RPC 2.0 section 5.1, which reserves -32000 to -32099 for servers. */
const RPC = { invalidRequest: -32600, internal: -32603, other: -32000 } as const

const CODES: Partial<Record<ErrorKind, number>> = {
  invalid: RPC.invalidRequest,
  too_large: RPC.invalidRequest,
  internal: RPC.internal,
}

/**
 * Errors of /mcp that belong to no message: the errors of /v1 as JSON-RPC errors. Clients react to status and challenge, and `data`
 * contains the code of /v1.
 */
export const mcpErrorRenderer: ErrorRenderer = {
  ...v1ErrorRenderer,
  methodNotAllowed: () =>
    new AppError('method_not_allowed', 'bad_request', 'There are no streams and no sessions here: use POST'),
  render(error, req) {
    const { headers = {}, body } = v1ErrorRenderer.render(error, req) as ReturnType<
      typeof v1ErrorRenderer.render
    > & { body: { error: { code: string; message: string } } }
    const { code, message } = body.error
    return {
      headers,
      body: {
        jsonrpc: '2.0',
        id: null,
        error: { code: CODES[error.kind] ?? RPC.other, message, data: { code } },
      },
    }
  },
}
