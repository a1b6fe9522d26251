import { createLogger, createRegistry } from '@signet/telemetry'
import { createObserver } from '../../src/observers/observer.js'

/** An observer for parts that are tested without a server. Its log lines go to `sink`. */
export const anObserver = (sink: (line: string) => void = () => undefined) =>
  createObserver(
    createLogger({ level: 'debug', component: 'test', sink }),
    createRegistry({ runtime: false }),
  )
