import { fork, type ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** A process of this folder that answers each message with one. */
export class Child<Ask, Tell> {
  readonly process: ChildProcess

  constructor(file: string) {
    this.process = fork(fileURLToPath(new URL(file, import.meta.url)))
  }

  ask(message: Ask): Promise<Tell> {
    return new Promise((resolve, reject) => {
      const onExit = () => reject(new Error('the process ended'))
      this.process.once('exit', onExit)
      this.process.once('message', (answer) => {
        this.process.off('exit', onExit)
        resolve(answer as Tell)
      })
      this.tell(message)
    })
  }

  tell(message: Ask): void {
    this.process.send(message as object)
  }

  stop(): void {
    this.process.disconnect()
  }
}

export type Usage = { cpuMs: number; memoryMib: number }

/** CPU time so far and memory now, from the kernel. */
export function usageOf(pid: number): Usage {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // After the name in parentheses: state is field 3, utime 14, stime 15, in ticks of 10 ms; rss 24 in pages.
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
  return {
    cpuMs: ((fields[11] ?? 0) + (fields[12] ?? 0)) * 10,
    memoryMib: ((fields[21] ?? 0) * 4096) / 1024 / 1024,
  }
}
