// What modules reach when they run. Imports of types are left out: routes name the services they are given by their types, and
// services hold the SQL.
const { options } = require('../../.dependency-cruiser.cjs')

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      // Lint refuses SQL anywhere else.
      name: 'routes-reach-no-sql',
      comment:
        'Not through another module either: routes get their services, which hold it, from the context.',
      severity: 'error',
      from: { path: '^apps/[^/]+/src/.*-routes\\.ts$' },
      to: { path: '-store\\.ts$|node_modules/pg/', reachable: true },
    },
  ],
  options: { ...options, tsPreCompilationDeps: false },
}
