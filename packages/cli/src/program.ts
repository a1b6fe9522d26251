import { Command } from 'commander'
import { commonOptions, withExamples } from './command/define.js'
import type { Host } from './command/host.js'
import { apiCommand } from './api-call/api-command.js'
import { completionCommand } from './completion/completion-command.js'
import { deliveryCommands } from './deliveries/delivery-commands.js'
import { eventCommands } from './events/event-commands.js'
import { listenCommand } from './listen/listen-command.js'
import { recoverCommands } from './recover/recover-commands.js'
import { profileCommands } from './profiles/profile-commands.js'
import { loginCommand } from './session/login-command.js'
import { logoutCommand } from './session/logout-command.js'
import { whoamiCommand } from './session/whoami-command.js'
import { tokenCommands } from './tokens/token-commands.js'
import { triggerCommand } from './trigger/trigger-command.js'
import { verifyCommand } from './verify/verify-command.js'
import { VERSION } from './version.js'
import { webhookCommands } from './webhooks/webhook-commands.js'

const ENVIRONMENT = `
Environment:
  SIGNET_URL               webhooks service
  SIGNET_AUTH_URL          identity service, for --password
  SIGNET_TOKEN             personal token, in place of the stored one
  SIGNET_WEBHOOK_SECRET    webhook secret for listen, trigger and verify
  SIGNET_PROFILE           sign-ins to use
  SIGNET_CREDENTIAL_STORE  auto, keychain or file
  XDG_CONFIG_HOME          folder of the credentials file (default ~/.config)
  NO_COLOR, BROWSER, NODE_EXTRA_CA_CERTS

Exit codes:
  0 done   1 refused by the service   2 wrong usage   3 not signed in   4 no connection   5 the service failed`

/** Creates the whole command line. Parsing errors are thrown as CommanderError instead of ending the process. */
export function createProgram(host: Host): Command {
  const program = new Command('signet')
    .description('Sign in to Signet, manage personal tokens and webhooks, and receive deliveries locally.')
    .version(VERSION, '-V, --version', 'print the version')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => host.stdout.write(text),
      writeErr: (text) => host.stderr.write(text),
      // The caller prints errors once, in one format.
      outputError: () => undefined,
    })
    .addHelpText('after', ENVIRONMENT)
  withExamples(commonOptions(program), [
    'signet login',
    'signet listen --create --forward-to http://localhost:3000/hook',
    'signet deliveries list 42 --watch',
  ])
  for (const add of [
    loginCommand,
    logoutCommand,
    whoamiCommand,
    tokenCommands,
    profileCommands,
    webhookCommands,
    deliveryCommands,
    recoverCommands,
    eventCommands,
    listenCommand,
    triggerCommand,
    verifyCommand,
    apiCommand,
    completionCommand,
  ]) {
    add(program, host)
  }
  return program
}
