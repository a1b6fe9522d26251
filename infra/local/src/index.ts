export { type Exit, type Guarded, type GuardedOptions, startGuarded } from './child.js'
export { freePort, nextFreePort } from './ports.js'
export {
  createDatabase,
  type PostgresOptions,
  type PostgresServer,
  removePostgresData,
  startPostgres,
} from './postgres.js'
export { type RedisOptions, type RedisServer, startRedis } from './redis.js'
