import type { JsonSchema, RouteDocs } from '@signet/http'
import { ref } from '../schemas/schema-parts.js'
import { responses } from '../api/v1-docs.js'

const version = { type: 'string', const: '2.0' }
const id = { type: ['string', 'integer', 'null'] }

/** Components of the OpenAPI document. The specification of MCP describes the content of messages. */
export const mcpComponents: Readonly<Record<string, JsonSchema>> = {
  McpMessage: {
    type: 'object',
    description: 'A JSON-RPC 2.0 message',
    required: ['jsonrpc'],
    properties: {
      jsonrpc: version,
      id,
      method: { type: 'string' },
      params: { type: 'object' },
      result: { type: 'object' },
      error: { type: 'object' },
    },
    examples: [{ jsonrpc: '2.0', id: 1, method: 'tools/list' }],
  },
  McpError: {
    type: 'object',
    required: ['jsonrpc', 'id', 'error'],
    properties: {
      jsonrpc: version,
      id,
      error: {
        type: 'object',
        required: ['code', 'message'],
        properties: {
          code: { type: 'integer', description: 'As JSON-RPC 2.0 and MCP define it' },
          message: { type: 'string', description: 'For people; may change at any time' },
          data: {
            type: 'object',
            description: 'What MCP defines for the error, or:',
            additionalProperties: true,
            properties: { code: { type: 'string', description: 'The code of the same error in /v1' } },
          },
        },
      },
    },
    examples: [{ jsonrpc: '2.0', id: 1, error: { code: -32600, message: 'The message is not valid' } }],
  },
}

const messages = { oneOf: [ref('McpMessage'), { type: 'array', items: ref('McpMessage') }] }

/** Documentation of `POST /mcp`. */
export const mcpDocs: RouteDocs = {
  operationId: 'sendMcpMessage',
  tag: 'MCP',
  security: ['bearer'],
  summary: 'Send a message to the MCP server',
  description:
    'Model Context Protocol over Streamable HTTP, without sessions: each message is answered by itself, as JSON. The operations of this API are the tools.',
  body: messages,
  responses: {
    200: { description: 'The response', schema: messages },
    202: { description: 'A notification was received' },
    ...Object.fromEntries(
      Object.entries(responses({}, 400, 401, 403, 413, 429)).map(([status, response]) => [
        status,
        { ...response, schema: ref('McpError'), example: undefined },
      ]),
    ),
    404: { description: 'Since revision 2026-07-28: there is no such method', schema: ref('McpError') },
    406: { description: '`Accept` lacks application/json or text/event-stream', schema: ref('McpError') },
  },
}
