import type { Command } from 'commander'
import type { Context } from '../command/context.js'
import { defineCommand, run } from '../command/define.js'
import type { Host } from '../command/host.js'
import { listProfiles, type ProfileEntry } from '../credentials/profiles.js'
import type { Column } from '../output/table.js'

const COLUMNS: readonly Column<ProfileEntry>[] = [
  { header: 'PROFILE', value: ({ profile }) => profile },
  { header: 'SERVICE', value: ({ url }) => url, flexible: true },
  { header: 'ACCOUNT', value: ({ email }) => email || '-', flexible: true },
  { header: 'CURRENT', value: ({ current }) => (current ? 'yes' : 'no') },
]

export function profileCommands(parent: Command, host: Host): void {
  defineCommand(parent, 'profiles', 'list the sign-ins of this computer by profile', {
    examples: ['signet login --profile staging', 'signet profiles', 'signet webhooks list --profile staging'],
  }).action(run(host, list))
}

async function list({ output, settings: { configDir } }: Context): Promise<void> {
  const entries = await listProfiles({ configDir, warn: (text) => output.warn(text) })
  output.list(entries, COLUMNS, 'Nobody is signed in. `signet login` does that.')
}
