// The arguments of `npm start`. Import only Node built-ins here: the arguments are read before anything is installed.
import { readArguments } from './arguments.mjs'

const USAGE = `npm start                 services, walk-through, then stay up
npm start -- --no-demo    services only, with the real retry schedule
npm start -- --once       services, walk-through, then stop: exit code 0 when every step passed
npm start -- --reset      forget all data of earlier runs first; not with DATABASE_URL or REDIS_URL

Ports: 8081 identity, 8082 webhooks, 8083 internal API, 8084 dispatcher, 1025 SMTP, 8025 inbox, 8443 receiver.
If one is taken, the next free one in steps of ten is used. The table at the end lists them all, and so does .data/env/addresses.sh.`

const OPTIONS = {
  reset: { type: 'boolean', default: false },
  once: { type: 'boolean', default: false },
  'no-demo': { type: 'boolean', default: false },
}

/** Returns the options, or a text to print and the exit code if there is nothing to start. */
export function readStartArguments(args) {
  const { values, text, code } = readArguments(args, USAGE, OPTIONS)
  if (!values) return { text, code }
  if (values.once && values['no-demo'])
    return { text: `--once runs the demo, so it cannot be combined with --no-demo\n\n${USAGE}`, code: 2 }
  return { options: { reset: values.reset, once: values.once, demo: !values['no-demo'] } }
}
