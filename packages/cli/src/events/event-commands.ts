import type { Command } from 'commander'
import type { Sample } from '../api/types.js'
import type { Context } from '../command/context.js'
import { defineCommand, defineGroup, integerOption, run } from '../command/define.js'
import type { Host } from '../command/host.js'
import { printableJson, readableTime } from '../output/text.js'
import { signedInApi } from '../session/active-token.js'

type Options = { event?: string; limit?: number }

export function eventCommands(parent: Command, host: Host): void {
  const group = defineGroup(parent, 'events', 'look at what webhooks receive', [
    'signet events samples --event summary.completed',
  ])
  defineCommand(group, 'samples', 'show recent payloads, or a made-up one when there are none', {
    examples: ['signet events samples', 'signet events samples --event webhook.ping --limit 1'],
  })
    .option('--event <type>', 'event type (default summary.completed)')
    .addOption(integerOption('--limit <number>', 'how many at most (default 3)', 1, 10))
    .action(run<Options>(host, samples))
}

async function samples(context: Context, { event, limit }: Options): Promise<void> {
  const { output } = context
  const payloads = await (
    await signedInApi(context)
  ).listSamples({
    ...(event === undefined ? {} : { event }),
    ...(limit === undefined ? {} : { limit: String(limit) }),
  })
  output.result(payloads, (paint) =>
    payloads
      .map((payload) => `${paint('bold', heading(payload))}\n${printableJson(payload, 2)}`)
      .join('\n\n'),
  )
}

const heading = ({ id, type, created_at }: Sample): string => `${type}  ${id}  ${readableTime(created_at)}`
