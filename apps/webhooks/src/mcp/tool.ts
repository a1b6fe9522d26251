import type { CallToolResult, Tool as ToolDefinition } from '@modelcontextprotocol/server'
import { routeCaller, type Effect, type JsonSchema, type Route } from '@signet/http'
import type { Response } from 'express'
import { v1ErrorRenderer } from '../http/v1-error-renderer.js'
import { toolArguments } from './tool-arguments.js'
import { MAX_RESULT_LENGTH, toolResult } from './tool-result.js'
import { inlined } from './tool-schema.js'

type Arguments = Readonly<Record<string, unknown>>

/** An operation of /v1 as a tool (docs/specification.md#tools). */
export type Tool = {
  definition: ToolDefinition
  /** Returns a function that calls the route with the arguments. Throws `bad_request` if they are invalid. */
  prepare: (given: Arguments) => (res: Response) => Promise<CallToolResult>
}

/** The tools by name (decision 0190). Routes without an effect are not tools. */
export const toolsOf = (
  routes: readonly Route[],
  components: Readonly<Record<string, JsonSchema>>,
): ReadonlyMap<string, Tool> =>
  new Map(
    routes.flatMap((route) => {
      const { effect } = route.docs
      return effect === undefined ? [] : [[toolName(route), toolOf(route, effect, components)]]
    }),
  )

/** Turns `createWebhook` into `create_webhook`. */
const toolName = ({ docs }: Route): string =>
  docs.operationId.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

function toolOf(route: Route, effect: Effect, components: Readonly<Record<string, JsonSchema>>): Tool {
  const { docs } = route
  const call = routeCaller(route, v1ErrorRenderer, { maxAnswerLength: MAX_RESULT_LENGTH })
  const { inputSchema, callOf } = toolArguments(route)
  const outputSchema = outputSchemaOf(route, components)
  return {
    definition: {
      name: toolName(route),
      title: docs.summary,
      description: [`${docs.summary}.`, docs.description].filter(Boolean).join(' '),
      inputSchema: inlined(inputSchema, components) as ToolDefinition['inputSchema'],
      outputSchema: outputSchema,
      annotations: ANNOTATIONS[effect],
    },
    prepare(given) {
      const routeCall = callOf(given)
      return async (res) => toolResult(await call(routeCall, res))
    },
  }
}

/** The schema of the answer. A list becomes the member `items`, because structured content must be an object. */
function outputSchemaOf({ docs }: Route, components: Readonly<Record<string, JsonSchema>>): JsonSchema {
  const schema = inlined(docs.responses[200]?.schema ?? {}, components)
  return schema['type'] === 'array'
    ? { type: 'object', required: ['items'], properties: { items: schema } }
    : schema
}

/** Hosts show these, and some use them to decide whether to ask a person. Open world: the tool makes us send something to other systems. */
const ANNOTATIONS: Readonly<Record<Effect, NonNullable<ToolDefinition['annotations']>>> = {
  read: { readOnlyHint: true, openWorldHint: false },
  add: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  restore: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  replace: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: true },
  remove: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  renew: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
}
