// Loaded into a process before its program, to set its clock wrong: on SIGUSR2 it reads by how many milliseconds.
import { readFileSync } from 'node:fs'

const RealDate = Date
let offsetMs = 0
const now = () => RealDate.now() + offsetMs

globalThis.Date = new Proxy(RealDate, {
  construct: (target, given, newTarget) =>
    Reflect.construct(target, given.length === 0 ? [now()] : given, newTarget),
  apply: () => new RealDate(now()).toString(),
  get: (target, name, receiver) => (name === 'now' ? now : Reflect.get(target, name, receiver)),
})

process.on('SIGUSR2', () => {
  offsetMs = Number(readFileSync(process.env.SIGNET_CHAOS_CLOCK, 'utf8'))
})

// On SIGWINCH, ends all threads of the process. The only threads of a dispatcher are those that convert HTML.
const threads = new Set()
process.on('worker', (worker) => {
  threads.add(worker)
  worker.once('exit', () => threads.delete(worker))
})
process.on('SIGWINCH', () => {
  for (const worker of threads) void worker.terminate()
})
