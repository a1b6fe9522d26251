/** The servers of this jest run, as its global setup announced them. */
export function fromEnvironment(name: 'SIGNET_TEST_DATABASE_URL' | 'SIGNET_TEST_REDIS_URL'): string {
  const value = process.env[name]
  if (!value) throw new Error(`${name} is not set: run tests through \`npm test -- <folder>\``)
  return value
}
