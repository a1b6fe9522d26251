export { parseRedisNode, parseRedisUrl } from './addresses.js'
export { connectRedis, redisSettings, type RedisSettings } from './connection.js'
