import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** A process from this folder that answers each message with one message. */
export class Child<Ask, Tell> {
  readonly #process: ChildProcess

  constructor(file: string) {
    this.#process = fork(fileURLToPath(new URL(file, import.meta.url)))
  }

  get pid(): number {
    return this.#process.pid ?? 0
  }

  ask(message: Ask): Promise<Tell> {
    return new Promise((resolve, reject) => {
      const onExit = () => reject(new Error('the process ended'))
      this.#process.once('exit', onExit)
      this.#process.once('message', (answer) => {
        this.#process.off('exit', onExit)
        resolve(answer as Tell)
      })
      this.tell(message)
    })
  }

  tell(message: Ask): void {
    this.#process.send(message as object)
  }

  stop(): void {
    this.#process.disconnect()
  }
}
