export { type Authority, createAuthority, issueCertificate, loadAuthority } from './certificate.js'
export { unpackedProgram, unpackPackage } from './debian-package.js'
export { type Guarded, startGuarded } from './child.js'
export { startInbox } from './inbox/inbox.js'
export type { Mail } from './inbox/mail.js'
export { leasePort } from './ports.js'
export {
  createDatabase,
  type PostgresOptions,
  type PostgresServer,
  removePostgresData,
  startPostgres,
} from './postgres.js'
export { findPrograms } from './programs.js'
export {
  type Answer,
  type DeliveryFilter,
  type Hook,
  type ReceivedDelivery,
  startReceiver,
} from './receiver/receiver.js'
export { type RedisServer, startRedis } from './redis.js'
export { type ServerProcess } from './server-process.js'
export { type ServiceName, serviceEnvironments } from './stack/environment.js'
export { newSecrets } from './stack/secrets.js'
export { migrateService, type Service, startService } from './stack/service.js'
export { waitUntil } from './wait-until.js'
export { listen } from './web-server.js'
