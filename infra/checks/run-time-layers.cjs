// What modules reach when they run: the compiled apps are read, in which imports of types are gone. Routes name the services
// they are given by their types, and services hold the SQL.

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      // Lint refuses SQL anywhere else.
      name: 'routes-reach-no-sql',
      comment:
        'Not through another module either: routes get their services, which hold it, from the context.',
      severity: 'error',
      from: { path: '^apps/[^/]+/dist/.*-routes\\.js$' },
      to: { path: '-store\\.js$|node_modules/pg/', reachable: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
}
