import { route, type Route } from '@signet/http'
import type { Caller } from '../bearer/bearer-service.js'
import type { Authenticate } from '../bearer/bearer-authentication.js'
import { mcpDocs } from './mcp-docs.js'
import { MCP_PATH } from './mcp-path.js'
import type { McpMessageDeps } from './mcp-messages.js'

type Deps = McpMessageDeps & { authenticate: Authenticate }

export const MAX_BODY_BYTES = 65_536

/** Loaded on demand: the library and its schemas would be a tenth of everything that the service loads at start. */
const messages = () => import('./mcp-messages.js')

/** The MCP server (docs/specification.md#mcp-transport). Does not offer streams and sessions, for which there are GET and DELETE. */
export const mcpRoutes = (deps: Deps): Route[] => [
  route<Caller, Buffer>({
    method: 'post',
    path: MCP_PATH,
    docs: mcpDocs,
    authenticate(req, context) {
      // Starts loading with the first request, which a new client sends without a token. If loading fails, the next message reports it.
      messages().catch(() => undefined)
      return deps.authenticate(req, context)
    },
    authenticateAgain: deps.authenticate,
    body: { as: 'json-bytes', maxBytes: MAX_BODY_BYTES },
    async handle(call) {
      const { answerMessage } = await messages()
      return answerMessage(deps, call)
    },
  }),
]
