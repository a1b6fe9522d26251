import { availableParallelism } from 'node:os'

// Workspace packages resolve to their TypeScript source (`@signet/source`), so tests never run stale builds.
export default {
  testEnvironment: '<rootDir>/infra/checks/jest/environment.mjs',
  testRunner: '<rootDir>/infra/checks/jest/runner.mjs',
  testSequencer: '<rootDir>/infra/checks/jest/sequencer.mjs',
  // Those that share no modules (decision 0252): files that say `@jest-environment node`, and mutation runs.
  testEnvironmentOptions: { customExportConditions: ['@signet/source', 'node', 'node-addons'] },
  roots: ['<rootDir>/apps', '<rootDir>/packages', '<rootDir>/infra'],
  testMatch: ['**/*.test.ts'],
  modulePathIgnorePatterns: ['/dist/'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          parser: { syntax: 'typescript' },
          target: 'es2023',
          experimental: { keepImportAttributes: true },
        },
        module: { type: 'es6' },
        sourceMaps: 'inline',
      },
    ],
  },
  globalSetup: '<rootDir>/infra/checks/jest/global-setup.mjs',
  globalTeardown: '<rootDir>/infra/checks/jest/global-teardown.mjs',
  // Only for a test that hangs: on a busy machine a good one may take many times as long as on an idle one.
  testTimeout: 180_000,
  // Modules of a test file outlive it; a heap of gigabytes makes every later file slow.
  workerIdleMemoryLimit: '1GB',
  // Many tests wait for something, so it takes five workers to keep two cores busy.
  maxWorkers: Math.max(5, availableParallelism() - 1),
}
