import { createRequire } from 'node:module'

/**
 * Loaded with `require`, not `import`: before Node imports CommonJS, it reads all files of the library to find its exports, which takes
 * as long as running them.
 */
export const bullmq = createRequire(import.meta.url)('bullmq') as typeof import('bullmq')
