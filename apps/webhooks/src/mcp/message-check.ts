import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server'
import type { Answer } from '@signet/http'
import { badRequest } from '../errors/api-errors.js'

/** The answer to a message that the library would not accept, and because of which it would reject a whole batch. */
export type Rejection = { jsonrpc: '2.0'; id: unknown; error: { code: number; message: string } }

/**
 * Separates the messages that are answered here: requests whose params are not an object and, in a batch, items that are not messages
 * (JSON-RPC 2.0, section 6). A body without any message is refused as a whole. Drops responses, because this server sends no requests.
 */
export function sortOut(message: unknown): { rest: unknown[]; rejections: Rejection[] } {
  const messages: unknown[] = Array.isArray(message) ? message : [message]
  const rest = messages.filter(isMessage)
  const rejections = messages.filter((one) => !isMessage(one) && !isResponse(one)).map(rejectionOf)
  const hasMessage = rest.length > 0 || messages.some(isResponse)
  if (!hasMessage && rejections.every(({ id }) => id === null)) throw badRequest(NO_MESSAGE)
  return { rest, rejections }
}

const NO_MESSAGE = 'This is not a valid message of the protocol'

/** Like the answer to every other refused body, except that JSON-RPC has its own code for this. */
export const notJson: Answer = {
  status: 400,
  body: {
    jsonrpc: '2.0',
    id: null,
    error: {
      code: ProtocolErrorCode.ParseError,
      message: 'The body is not valid JSON',
      data: { code: 'bad_request' },
    },
  },
}

const isMessage = (message: unknown): boolean => isJSONRPCRequest(message) || isJSONRPCNotification(message)

const isResponse = (message: unknown): boolean =>
  isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)

function rejectionOf(message: unknown): Rejection {
  const withParams: unknown = typeof message === 'object' && { ...message, params: {} }
  return isJSONRPCRequest(withParams)
    ? rejection(withParams.id, ProtocolErrorCode.InvalidParams, 'params must be an object')
    : rejection(null, ProtocolErrorCode.InvalidRequest, NO_MESSAGE)
}

const rejection = (id: unknown, code: number, message: string): Rejection => ({
  jsonrpc: '2.0',
  id,
  error: { code, message },
})
