export type { Limit, Limiter } from './limit.js'
export { createLimiter } from './limiter.js'
