import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server'

/** How a message is answered that the library would not take, and would refuse a whole batch for. */
export type Rejection = { jsonrpc: '2.0'; id: unknown; error: { code: number; message: string } }

/**
 * Splits off what is answered here: a request whose params are no object, and in a batch each thing that is no message
 * (JSON-RPC 2.0, section 6). Where nothing else is left, what is no message is left to the library, which refuses the body.
 */
export function sortOut(message: unknown): { rest: unknown[]; rejections: Rejection[] } {
  const messages: unknown[] = Array.isArray(message) ? message : [message]
  const rest = messages.filter(isMessage)
  const rejections = messages.filter((one) => !isMessage(one)).map(rejectionOf)
  const isForLibrary = rest.length === 0 && rejections.every(({ id }) => id === null)
  return isForLibrary ? { rest: messages, rejections: [] } : { rest, rejections }
}

const isMessage = (message: unknown): boolean =>
  isJSONRPCRequest(message) ||
  isJSONRPCNotification(message) ||
  isJSONRPCResultResponse(message) ||
  isJSONRPCErrorResponse(message)

function rejectionOf(message: unknown): Rejection {
  const withParams: unknown = typeof message === 'object' && { ...message, params: {} }
  return isJSONRPCRequest(withParams)
    ? rejection(withParams.id, ProtocolErrorCode.InvalidParams, 'params must be an object')
    : rejection(null, ProtocolErrorCode.InvalidRequest, 'This is no message of the protocol')
}

const rejection = (id: unknown, code: number, message: string): Rejection => ({
  jsonrpc: '2.0',
  id,
  error: { code, message },
})
