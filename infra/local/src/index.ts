export {
  type Authority,
  createAuthority,
  issueCertificate,
  type KeyAndCertificate,
  loadAuthority,
} from './certificate.js'
export { unpackedProgram, unpackPackage } from './distribution-package.js'
export { type Exit, type Guarded, type GuardedOptions, startGuarded } from './child.js'
export * from './inbox/index.js'
export { leasePort, leaseNextPort } from './ports.js'
export {
  createDatabase,
  type PostgresOptions,
  type PostgresServer,
  removePostgresData,
  startPostgres,
} from './postgres.js'
export { findPrograms } from './programs.js'
export * from './receiver/index.js'
export {
  type RedisOptions,
  type RedisServer,
  type SentinelOptions,
  startRedis,
  startSentinel,
} from './redis.js'
export { type ServerProcess } from './server-process.js'
export { scratchFolder } from './scratch-folder.js'
export { type ServiceName, serviceEnvironments } from './stack/environment.js'
export { newSecrets } from './stack/secrets.js'
export { migrateService, type RunningService, type Service, startService } from './stack/service.js'
export { waitUntil } from './wait-until.js'
