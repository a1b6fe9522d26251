import { Option, type Command } from 'commander'
import { everyPage } from '../api/every-page.js'
import type { ListedRecovery, Recovery } from '../api/types.js'
import type { Context } from '../command/context.js'
import { defineCommand, defineGroup, parseId, run } from '../command/define.js'
import type { Host } from '../command/host.js'
import { parseTime } from '../deliveries/delivery-filter.js'
import { poll } from '../deliveries/poll.js'
import type { Column } from '../output/table.js'
import { printable, readableTime } from '../output/text.js'
import { signedInApi } from '../session/active-token.js'

type StartOptions = { since: string; until?: string; what?: Recovery['what'] }
type ShowOptions = { watch?: boolean }

export function recoverCommands(parent: Command, host: Host): void {
  const group = defineGroup(parent, 'recover', 'send again what a webhook missed', [
    'signet recover start 42 --since 7d',
    'signet recover list 42',
    'signet recover show 42 7 --watch',
  ])

  defineCommand(group, 'start', 'send the events of a period again, a few at a time and behind live events', {
    examples: [
      'signet recover start 42 --since 7d',
      'signet recover start 42 --since 2026-01-31T09:00:00Z --until 2026-01-31T12:00:00Z --what all',
    ],
  })
    .argument('<webhook>', 'id of the webhook', parseId)
    .requiredOption(
      '--since <time>',
      'deliveries created then or later: a date and time, or 30m, 2h, 7d ago',
      parseTime,
    )
    .option('--until <time>', 'and before then (default now)', parseTime)
    .addOption(
      new Option(
        '--what <word>',
        'failed: events that never arrived (default); all: those that did, too',
      ).choices(['failed', 'all']),
    )
    .action(run<StartOptions>(host, start))

  defineCommand(group, 'list', 'show the last recoveries of a webhook, newest first', {
    examples: ['signet recover list 42'],
  })
    .argument('<webhook>', 'id of the webhook', parseId)
    .action(run<object>(host, list))

  defineCommand(group, 'show', 'show the progress of a recovery', {
    examples: ['signet recover show 42 7', 'signet recover show 42 7 --watch'],
  })
    .argument('<webhook>', 'id of the webhook', parseId)
    .argument('<recovery>', 'id of the recovery', parseId)
    .option('--watch', 'keep running until every delivery has ended')
    .action(run<ShowOptions>(host, show))

  defineCommand(group, 'cancel', 'make no more deliveries; those that are queued are still sent', {
    examples: ['signet recover cancel 42 7'],
  })
    .argument('<webhook>', 'id of the webhook', parseId)
    .argument('<recovery>', 'id of the recovery', parseId)
    .action(run<object>(host, cancel))
}

async function start(context: Context, { since, until, what }: StartOptions, webhook = ''): Promise<void> {
  const api = await signedInApi(context)
  const wanted = { since, ...(until === undefined ? {} : { until }), ...(what === undefined ? {} : { what }) }
  const recovery = await api.startRecovery(webhook, wanted)
  context.output.fields(recovery, fieldsOf(recovery))
  context.output.note(`To follow its progress: signet recover show ${webhook} ${recovery.id} --watch`)
}

async function list(context: Context, _options: object, webhook = ''): Promise<void> {
  const api = await signedInApi(context)
  const found = await everyPage(context, (cursor) => api.listRecoveries(webhook, cursor))
  context.output.list(
    found,
    COLUMNS,
    `There are no recoveries. \`signet recover start ${webhook} --since 7d\` begins one.`,
  )
}

async function show(context: Context, { watch }: ShowOptions, webhook = '', id = ''): Promise<void> {
  const api = await signedInApi(context)
  if (!watch) {
    const recovery = await api.getRecovery(webhook, id)
    return context.output.fields(recovery, fieldsOf(recovery))
  }
  let last = ''
  await poll(context, {
    load: () => api.getRecovery(webhook, id),
    show(recovery) {
      const line = progressOf(recovery)
      if (line !== last) context.output.streamed(recovery, () => line)
      last = line
      return { over: hasEnded(recovery) }
    },
  })
}

async function cancel(context: Context, _options: object, webhook = '', id = ''): Promise<void> {
  const recovery = await (await signedInApi(context)).cancelRecovery(webhook, id)
  context.output.fields(recovery, fieldsOf(recovery))
}

const COLUMNS: readonly Column<ListedRecovery>[] = [
  { header: 'ID', value: ({ id }) => id },
  { header: 'STARTED', value: ({ created_at }) => readableTime(created_at) },
  { header: 'STATE', value: ({ state }) => state },
  { header: 'EVENTS', value: ({ what }) => what },
  { header: 'FROM', value: ({ since }) => readableTime(since) },
  { header: 'TO', value: ({ until }) => readableTime(until) },
  { header: 'QUEUED', value: ({ queued, matched }) => `${queued} of ${matched}` },
]

const hasEnded = ({ state, queued, delivered, failed }: Recovery): boolean =>
  state !== 'running' && delivered + failed >= queued

const progressOf = ({ state, matched, queued, delivered, failed }: Recovery): string =>
  printable(`${state}: ${queued} of ${matched} queued, ${delivered} delivered, ${failed} failed`)

const fieldsOf = (recovery: Recovery): (readonly [label: string, value: string])[] => [
  ['ID', recovery.id],
  ['Events', `${recovery.what}, from ${readableTime(recovery.since)} to ${readableTime(recovery.until)}`],
  ['Progress', progressOf(recovery)],
]
