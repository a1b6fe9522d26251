export { connectRedis, type RedisRole, type RedisSettings } from './connection.js'
