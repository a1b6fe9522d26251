export { parseRedisNode, parseRedisUrl } from './addresses.js'
export { connectRedis, redisSettings, type RedisRole, type RedisSettings } from './connection.js'
