export type { Limit, Limiter } from './limit.js'
export { createLimiter, type LimiterOptions } from './limiter.js'
