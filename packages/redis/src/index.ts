export { connectRedis, redisSettings, type RedisRole, type RedisSettings } from './connection.js'
