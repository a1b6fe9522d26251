import type { Exit } from '../child.js'

/** Something that runs as part of the stack. Without `stop` it is not ours to stop. */
export interface Part {
  name: string
  /** For processes: settles when it ends, wanted or not. */
  exited?: Promise<Exit>
  stop?: () => Promise<unknown>
  /** Its last output, shown if it ends unexpectedly. */
  lastOutput?: () => string
}
