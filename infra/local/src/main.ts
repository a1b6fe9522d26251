// Runs the sandbox as a separate process, for containers: `node dist/main.js`. `npm start` runs it in its own process.
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { loadAuthority } from './certificate.js'
import { SANDBOX_PORTS, startSandbox } from './sandbox.js'

const { env } = process
const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())

const authority = await loadAuthority(env['SANDBOX_CERTIFICATE_FOLDER'] ?? 'certificates')
// Clients that should trust the certificate read it here, where the key is not stored.
const published = env['SANDBOX_PUBLISHED_CERTIFICATE']
if (published) writeFileSync(published, authority.cert)

const sandbox = await startSandbox({
  ports: SANDBOX_PORTS,
  authority,
  publicHost: env['SANDBOX_CERTIFICATE_HOST'],
  host: env['SANDBOX_HOST'],
})
const up = { time: new Date().toISOString(), level: 'info', component: 'sandbox', msg: 'sandbox is up' }
console.log(JSON.stringify(up))
if (!stop.signal.aborted) await once(stop.signal, 'abort')
await sandbox.stop()
