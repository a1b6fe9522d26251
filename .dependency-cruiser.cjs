// Who may import whom. Every rule was broken on purpose once, to see it fail.
/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'apps-never-import-apps',
      comment: 'Apps talk over HTTP and the queue.',
      severity: 'error',
      from: { path: '^apps/([^/]+)/' },
      to: { path: '^apps/([^/]+)/', pathNot: '^apps/$1/' },
    },
    {
      name: 'packages-never-import-apps',
      severity: 'error',
      from: { path: '^packages/' },
      to: { path: '^apps/' },
    },
    {
      name: 'leaf-packages-import-no-package',
      severity: 'error',
      from: {
        path: '^packages/(address-guard|config|errors|language|periodic|rate-limits|redis|standard-webhooks|telemetry|threads)/src/',
        pathNot: '\\.test\\.ts$',
      },
      to: { path: '^packages/', pathNot: '^packages/$1/' },
    },
    {
      name: 'routes-do-not-import-sql',
      comment: 'routes -> service -> store -> db',
      severity: 'error',
      from: { path: '-routes\\.ts$' },
      to: { path: '-store\\.ts$|node_modules/pg/' },
    },
    {
      name: 'services-and-stores-do-not-import-http',
      severity: 'error',
      from: { path: '-(service|store)\\.ts$' },
      to: { path: 'node_modules/express/|^packages/http/' },
    },
    {
      name: 'services-and-stores-do-not-reach-http',
      comment: 'Not through another module either.',
      severity: 'error',
      from: { path: '^apps/(auth|webhooks|dispatcher)/src/.*-(service|store)\\.ts$' },
      to: { path: 'node_modules/express/|^packages/http/', reachable: true },
    },
    {
      name: 'webauthn-is-loaded-on-demand',
      comment: 'Its files would take a quarter of the time that every start of the service takes.',
      severity: 'error',
      from: { path: '^apps/[^/]+/src/', pathNot: '\\.test\\.ts$' },
      to: { path: 'node_modules/@simplewebauthn/', dynamic: false, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'libraries-of-few-runs-are-loaded-on-demand',
      comment:
        'Every start of a service would load what most runs never use: passport, email, Bull Board, the MCP server, the list of public suffixes, QR codes.',
      severity: 'error',
      from: {
        path: '^(apps|packages)/[^/]+/src/',
        // These are loaded on demand themselves, as the next rule says.
        pathNot:
          '\\.test\\.ts$|^packages/(cli|testkit)/|^apps/auth/src/providers/strategies/|^apps/dispatcher/src/admin/queue-dashboard\\.ts$|^apps/webhooks/src/mcp/(mcp-messages|mcp-server|message-check|params-check)\\.ts$',
      },
      to: {
        path: 'node_modules/(passport|passport-[^/]+|oauth|nodemailer|@bull-board|@modelcontextprotocol|tldts|qrcode|bcryptjs)/',
        dynamic: false,
        dependencyTypesNot: ['type-only', 'type-import'],
      },
    },
    {
      name: 'users-of-such-libraries-are-loaded-on-demand',
      severity: 'error',
      from: {
        path: '^apps/[^/]+/src/',
        pathNot:
          '\\.test\\.ts$|^apps/auth/src/providers/strategies/|^apps/webhooks/src/mcp/(mcp-messages|mcp-server|message-check|params-check)\\.ts$',
      },
      to: {
        path: '^apps/auth/src/providers/strategies/(oauth1|oauth2|provider-passport)\\.ts$|^apps/dispatcher/src/admin/queue-dashboard\\.ts$|^apps/webhooks/src/mcp/(mcp-messages|mcp-server|message-check|params-check)\\.ts$',
        dynamic: false,
        dependencyTypesNot: ['type-only', 'type-import'],
      },
    },
    {
      name: 'commands-load-their-own-modules',
      comment: 'The help, the version and the migrations of a service need nothing of what it serves with.',
      severity: 'error',
      from: { path: '^apps/[^/]+/src/main\\.ts$' },
      to: {
        path: '^apps/[^/]+/src/(serve|app|context|config/(read-)?config)\\.ts$',
        dynamic: false,
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'opentelemetry-is-loaded-on-demand',
      comment:
        'It costs start-up time and memory, for those who switch it on. An import of types alone loads it too.',
      severity: 'error',
      from: {
        path: '^(apps|packages)/[^/]+/src/',
        pathNot: '\\.test\\.ts$|^packages/telemetry/src/open-telemetry/',
      },
      to: {
        path: '^packages/telemetry/src/open-telemetry/|node_modules/@opentelemetry/',
        dynamic: false,
      },
    },
    {
      name: 'imports-are-declared',
      comment:
        'A manifest that leaves out what its code imports works in this workspace, and not once it is deployed.',
      severity: 'error',
      from: { path: '^(apps|packages)/[^/]+/(src|test|bench|chaos)/' },
      // The test runner is the workspace's.
      to: {
        dependencyTypes: ['npm-no-pkg', 'npm-unknown', 'unknown'],
        pathNot: 'node_modules/@jest/globals/',
      },
    },
    {
      name: 'code-imports-no-development-dependency',
      comment: 'packages/cli is published as one file with all that it imports.',
      severity: 'error',
      from: { path: '^(apps|packages)/[^/]+/src/', pathNot: '\\.test\\.ts$|^packages/cli/' },
      to: {
        dependencyTypes: ['npm-dev'],
        dependencyTypesNot: ['npm', 'type-only'],
        pathNot: 'node_modules/@types/',
      },
    },
    {
      name: 'test-code-stays-in-tests',
      severity: 'error',
      from: { path: '^(apps|packages)/[^/]+/src/', pathNot: '\\.test\\.ts$|^packages/(webhook-)?testkit/' },
      to: { path: '^packages/(webhook-)?testkit/|^infra/(local|bench)/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(apps|packages|infra)/.*/dist/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.base.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['@signet/source', 'import', 'types', 'node', 'default'],
      extensions: ['.ts', '.js', '.mjs', '.cjs', '.json'],
    },
  },
}
