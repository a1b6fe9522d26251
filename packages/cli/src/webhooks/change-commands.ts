import type { Command } from 'commander'
import type { Context } from '../command/context.js'
import { defineCommand, parseId, run } from '../command/define.js'
import type { Host } from '../command/host.js'
import { parseHookAddress } from '../command/target.js'
import { NetworkError, RefusedError, ServerFailureError, UsageError } from '../errors.js'
import { signedInApi } from '../session/active-token.js'
import { DEFAULT_EVENTS, eventOptions, wantedEvents, type EventOptions } from './event-types.js'
import { webhookFields } from './webhook-view.js'

type CreateOptions = EventOptions & { to: string }
type UpdateOptions = EventOptions & { to?: string }

export function changeCommands(group: Command, host: Host): void {
  const creation = defineCommand(group, 'create', 'create a webhook and print its secret, once', {
    examples: [
      'signet webhooks create --to https://example.com/hook',
      'signet webhooks create --to https://example.com/hook --no-events --json',
    ],
  }).requiredOption('--to <address>', 'where to deliver, such as https://example.com/hook', parseHookAddress)
  eventOptions(creation, {
    events: `comma-separated types (default ${DEFAULT_EVENTS.join(',')})`,
    noEvents: 'receive nothing for now',
  }).action(run<CreateOptions>(host, create))

  const change = defineCommand(group, 'update', "change a webhook's address or events", {
    examples: [
      'signet webhooks update 42 --to https://example.com/new',
      'signet webhooks update 42 --events summary.completed',
    ],
  })
    .argument('<id>', 'id of the webhook', parseId)
    .option('--to <address>', 'new address; a disabled webhook becomes active again', parseHookAddress)
  eventOptions(change, {
    events: 'comma-separated event types, replacing the current ones',
    noEvents: 'receive nothing from now on',
  }).action(run<UpdateOptions>(host, update))

  defineCommand(group, 'enable', 'make a disabled webhook active again, with no failures', {
    examples: ['signet webhooks enable 42'],
  })
    .argument('<id>', 'id of the webhook', parseId)
    .action(run<object>(host, enable))

  defineCommand(group, 'delete', 'delete a webhook; its secret and pending deliveries go with it', {
    examples: ['signet webhooks delete 42'],
  })
    .argument('<id>', 'id of the webhook', parseId)
    .action(run<object>(host, remove))
}

async function create(context: Context, { to: url, ...events }: CreateOptions): Promise<void> {
  const api = await signedInApi(context)
  const created = await api
    .createWebhook({ url, events: wantedEvents(events) ?? DEFAULT_EVENTS })
    .catch(sayOption('--to'))
    .catch(adviseToCheck)
  context.output.fields(created, [
    ...webhookFields({ ...created, id: created.endpoint_id }),
    ['Secret', created.secret],
  ])
  context.output.note('Keep the secret: it verifies deliveries and is not shown again.')
}

async function update(context: Context, { to: url, ...events }: UpdateOptions, id = ''): Promise<void> {
  const change = wantedEvents(events)
  if (url === undefined && change === undefined) {
    throw new UsageError('Nothing to change: give --to, --events or --no-events')
  }
  const api = await signedInApi(context)
  // The service treats omitted events as none, so this sends the current ones again.
  const chosen = change ?? (await api.getWebhook(id)).events
  const updated = await api
    .updateWebhook(id, { ...(url === undefined ? {} : { url }), events: chosen })
    .catch(sayOption('--to'))
  context.output.fields(updated, webhookFields(updated))
}

async function enable(context: Context, _options: object, id = ''): Promise<void> {
  const webhook = await (await signedInApi(context)).enableWebhook(id)
  context.output.fields(webhook, webhookFields(webhook))
}

async function remove(context: Context, _options: object, id = ''): Promise<void> {
  await (await signedInApi(context)).deleteWebhook(id)
  context.output.result({ ok: true, id }, () => `Webhook ${id} is deleted.`)
}

export const isAboutUrl = (error: unknown): error is RefusedError =>
  error instanceof RefusedError && error.code === 'bad_request' && error.message.startsWith('url ')

/** The service's message names `url`. Replaces that with the option that the value came from. */
export const sayOption =
  (option: string) =>
  (error: unknown): never => {
    if (isAboutUrl(error)) error.message = error.message.replace(/^url/, option)
    throw error
  }

/** After a lost response the webhook may already exist, and creating it again would make a second one. */
export function adviseToCheck(error: unknown): never {
  if (error instanceof NetworkError || error instanceof ServerFailureError) {
    error.hint = 'The webhook may exist anyway: check with `signet webhooks list` before you try again.'
  }
  throw error
}
