// The arguments of `npm start`. Import only Node built-ins here: the arguments are read before anything is installed.
import { parseArgs } from 'node:util'

const USAGE = `npm start                 services, walk-through, then stay up
npm start -- --no-demo    services only, with the real retry schedule
npm start -- --once       services, walk-through, then stop: exit code 0 when every step passed
npm start -- --reset      forget all data of earlier runs first; not with DATABASE_URL or REDIS_URL

Ports: 8081 identity, 8082 webhooks, 8083 internal API, 8084 dispatcher, 1025 SMTP, 8025 inbox, 8443 receiver.
If one is taken, the next free one in steps of ten is used. The table at the end lists them all, and so does .data/env/addresses.sh.`

/** Returns the options, or a text to print and the exit code if there is nothing to start. */
export function readStartArguments(args) {
  try {
    const { values } = parseArgs({
      args,
      options: {
        reset: { type: 'boolean', default: false },
        once: { type: 'boolean', default: false },
        'no-demo': { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    })
    if (values.help) return { text: USAGE, code: 0 }
    if (values.once && values['no-demo'])
      throw new Error('--once runs the demo, so it cannot be combined with --no-demo')
    return { options: { reset: values.reset, once: values.once, demo: !values['no-demo'] } }
  } catch (error) {
    return { text: `${error.message}\n\n${USAGE}`, code: 2 }
  }
}
