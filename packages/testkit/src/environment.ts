/** The URL of a server of this jest run, which the global setup puts into the environment. */
export function fromEnvironment(name: 'SIGNET_TEST_DATABASE_URL' | 'SIGNET_TEST_REDIS_URL'): string {
  const value = process.env[name]
  if (!value) throw new Error(`${name} is not set: run tests through \`npm test -- <folder>\``)
  return value
}
