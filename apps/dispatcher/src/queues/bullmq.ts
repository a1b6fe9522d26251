import { createRequire } from 'node:module'

/**
 * Required and not imported. Before Node imports CommonJS it reads all files of the library to find the names it exports, which takes as
 * long as running them.
 */
export const bullmq = createRequire(import.meta.url)('bullmq') as typeof import('bullmq')
