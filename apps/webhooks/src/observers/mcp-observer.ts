import type { Logger, RequestMeta } from '@signet/telemetry'
import { Counter, type Registry } from 'prom-client'

type ToolCall = {
  tool: string
  accountId: string
  durationMs: number
  /** Absent after a success. `cause` is present if the failure was our fault. */
  error?: { code: string; cause?: unknown }
}

/** Reports tool calls, with log line and counter together. Never logs their arguments or results, which may contain a secret. */
export function createMcpObserver(log: Logger, registry: Registry) {
  const calls = new Counter({
    name: 'mcp_tool_calls_total',
    help: 'Calls of tools, by tool and outcome',
    labelNames: ['tool', 'outcome'],
    registers: [registry],
  })
  return {
    toolCalled({ tool, accountId, durationMs, error }: ToolCall, { requestId }: RequestMeta) {
      const outcome = error?.code ?? 'ok'
      calls.inc({ tool, outcome })
      const level = error === undefined ? 'info' : error.cause === undefined ? 'warn' : 'error'
      log.log(level, 'tool call', {
        request_id: requestId,
        account_id: accountId,
        tool,
        outcome,
        duration: Math.round(durationMs * 10) / 10,
        error: error?.cause,
      })
    },
    /** Reports problems that the protocol library finds in addition to its responses: a rejected message, or a bug. */
    protocolError(error: Error, { requestId }: RequestMeta) {
      log.debug('MCP message refused', { request_id: requestId, error })
    },
  }
}

export type McpObserver = ReturnType<typeof createMcpObserver>
