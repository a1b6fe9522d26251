import type { Command } from 'commander'
import type { PersonalToken } from '../api/types.js'
import type { Context } from '../command/context.js'
import { defineCommand, defineGroup, integerOption, parseId, run } from '../command/define.js'
import type { Host } from '../command/host.js'
import type { Column } from '../output/table.js'
import { printable, readableTime } from '../output/text.js'
import { serviceUrlOf } from '../command/service-address.js'
import { signInOptions, withAccountSession, type SignInOptions } from '../sign-in/sign-in.js'

type CreateOptions = SignInOptions & { name: string; expiresInDays?: number }

const COLUMNS: readonly Column<PersonalToken>[] = [
  { header: 'ID', value: ({ id }) => id },
  { header: 'NAME', value: ({ name }) => name, flexible: true },
  { header: 'TOKEN', value: ({ hint }) => hint },
  {
    header: 'STATUS',
    value: ({ status }) => status,
    paint: ({ status }, cell, paint) => paint(status === 'active' ? 'green' : 'yellow', cell),
  },
  { header: 'EXPIRES', value: ({ expires_at }) => readableTime(expires_at) },
  { header: 'LAST USED', value: ({ last_used_at }) => readableTime(last_used_at) },
]

const SIGNS_IN =
  '\nA personal token may not manage tokens: each of these commands signs in first, with the browser or --password.'

export function tokenCommands(parent: Command, host: Host): void {
  const group = defineGroup(parent, 'token', 'manage personal tokens', [
    'signet token create --name ci --expires-in-days 30',
    'signet token revoke 7',
  ]).addHelpText('after', SIGNS_IN)

  signInOptions(
    defineCommand(group, 'create', 'create a token and print it, once', {
      signsIn: true,
      examples: ['signet token create --name ci --expires-in-days 30'],
    }),
  )
    .requiredOption('--name <text>', 'name to recognize it by')
    .addOption(integerOption('--expires-in-days <days>', 'life of the token (default 90)', 1, 365))
    .action(run<CreateOptions>(host, create))

  signInOptions(
    defineCommand(group, 'list', 'list the tokens of the account', {
      signsIn: true,
      examples: ['signet token list'],
    }),
  ).action(run<SignInOptions>(host, list))

  signInOptions(
    defineCommand(group, 'revoke', 'revoke a token', { signsIn: true, examples: ['signet token revoke 7'] }),
  )
    .argument('<id>', 'id of the token, from `signet token list`', parseId)
    .action(run<SignInOptions>(host, revoke))
}

/** Writes only the token to stdout, so that it can be piped into a secrets manager. */
async function create(context: Context, { name, expiresInDays, ...options }: CreateOptions): Promise<void> {
  const { output } = context
  const created = await withAccountSession(context, await serviceUrlOf(context), options, ({ tokens }) =>
    tokens.createToken({
      name,
      ...(expiresInDays === undefined ? {} : { expires_in_days: expiresInDays }),
    }),
  )
  output.note(`Token ${created.id} expires ${readableTime(created.expires_at)}. It is shown only once:`)
  output.result(created, () => printable(created.token))
}

async function list(context: Context, options: SignInOptions): Promise<void> {
  const tokens = await withAccountSession(context, await serviceUrlOf(context), options, (session) =>
    session.tokens.listTokens(),
  )
  context.output.list(tokens, COLUMNS, 'There are no tokens. `signet token create --name <name>` makes one.')
}

async function revoke(context: Context, options: SignInOptions, id = ''): Promise<void> {
  await withAccountSession(context, await serviceUrlOf(context), options, ({ tokens }) =>
    tokens.revokeToken(id),
  )
  context.output.result({ ok: true, id }, () => `Token ${id} is revoked.`)
}
