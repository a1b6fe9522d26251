import { text as textOf } from 'node:stream/consumers'
import { Argument, InvalidArgumentError, type Command } from 'commander'
import type { Context } from '../command/context.js'
import { defineCommand, run } from '../command/define.js'
import { readNamedFile } from '../command/files.js'
import type { Host } from '../command/host.js'
import { UsageError } from '../errors.js'
import { parseJson } from '../json/parse-json.js'
import { printableJson } from '../output/text.js'
import { withoutMark } from '../prompt/without-mark.js'
import { signedInApi } from '../session/active-token.js'

const METHODS = ['GET', 'POST', 'PATCH', 'DELETE'] as const
type Method = (typeof METHODS)[number]
type Options = { data?: string }

/** Adds the command for any API call, for operations that have no command. */
export function apiCommand(parent: Command, host: Host): void {
  defineCommand(parent, 'api', 'call the API with your token and print its JSON response', {
    examples: [
      'signet api GET /v1/webhooks',
      "signet api GET '/v1/webhooks/42/deliveries?page_size=100'",
      `signet api PATCH /v1/webhooks/42 --data '{"events":["summary.completed"]}'`,
      'signet api POST /v1/webhooks --data @webhook.json',
    ],
  })
    .addArgument(new Argument('<method>', 'method').argParser(parseMethod))
    .argument('<path>', 'path and query, such as /v1/webhooks', parsePath)
    .option('--data <json>', 'body of the request; @<file> reads a file, and - reads stdin')
    .action(
      run<Options>(host, (context, options, method, path) =>
        call(context, options, { method: method as Method, path: path ?? '' }, host),
      ),
    )
}

async function call(
  context: Context,
  { data }: Options,
  { method, path }: { method: Method; path: string },
  { stdin }: Host,
): Promise<void> {
  // `fetch` refuses it, which would look like a failed connection.
  if (method === 'GET' && data !== undefined)
    throw new UsageError('A GET request has no body: leave out --data, or use another method')
  const body = data === undefined ? {} : { body: await jsonOf(data, stdin) }
  const answer = await (await signedInApi(context)).call({ method, path, ...body })
  context.output.line(printableJson(answer, 2))
}

/** Parses the body before anything is sent, so that a mistake is reported first. */
async function jsonOf(data: string, stdin: NodeJS.ReadStream): Promise<unknown> {
  const text =
    data === '-'
      ? await textOf(stdin)
      : data.startsWith('@')
        ? (await readNamedFile(data.slice(1))).toString()
        : data
  try {
    return parseJson(withoutMark(text))
  } catch (error) {
    throw new UsageError('--data is not JSON, or nested too deeply', { cause: error })
  }
}

function parseMethod(text: string): Method {
  const method = METHODS.find((one) => one === text.toUpperCase())
  if (method === undefined) throw new InvalidArgumentError(`It must be one of ${METHODS.join(', ')}.`)
  return method
}

/**
 * Accepts only a path below the service's own address, exactly as written: the token must not go to another host or to another part of
 * the service.
 */
function parsePath(text: string): string {
  if (!text.startsWith('/v1/') && !text.startsWith('/account/')) throw notAPath()
  // The URL parser resolves `..`, even written as %2e%2e, and takes a second slash as the start of a host.
  const { pathname, search } = new URL(text, 'http://localhost')
  if (pathname + search !== text) throw notAPath()
  return text
}

const notAPath = () => new InvalidArgumentError('It must be a path of the API, such as /v1/webhooks.')
