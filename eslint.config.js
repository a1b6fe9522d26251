import js from '@eslint/js'
import tseslint from 'typescript-eslint'

export default tseslint.config(
  { ignores: ['**/dist/', '**/node_modules/', '.cache/', '.data/', '**/*.cjs'] },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: {
      parserOptions: { project: 'infra/checks/tsconfig.lint.json', tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      // `import { type X }` still loads the module, which costs each start memory and time.
      '@typescript-eslint/no-import-type-side-effects': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-console': 'error',
      'no-restricted-properties': [
        'error',
        {
          object: 'process',
          property: 'env',
          message: 'Only main.ts reads the environment; pass settings in.',
        },
        {
          object: 'URL',
          property: 'canParse',
          message: 'Use parseUrl of @signet/address-guard/parse-url, which says why.',
        },
      ],
    },
  },
  {
    // The processes themselves, the local stack and tests may read the environment; command lines print.
    files: [
      '**/main.ts',
      'infra/{local,load}/**/*.ts',
      'packages/{testkit,webhook-testkit,cli}/**/*.ts',
      '**/*.test.ts',
      '**/{test,bench,chaos}/**/*.ts',
    ],
    rules: { 'no-restricted-properties': 'off', 'no-console': 'off' },
  },
  {
    files: ['apps/*/src/**/*-{routes,service,store}.ts'],
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          paths: [
            {
              name: '@signet/telemetry',
              importNames: ['Logger', 'createLogger'],
              message: 'Observers write log lines. Pass them the request: decision 0041.',
            },
          ],
        },
      ],
    },
  },
  {
    files: ['{apps,packages}/*/src/**/*.ts'],
    ignores: ['**/*.test.ts', 'packages/{redis,testkit,threads,webhook-testkit}/**'],
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector: "MemberExpression[object.name='Promise'][property.name='race']",
          message: 'Use p-timeout: it ends the timer and handles the promise that loses.',
        },
        {
          selector: 'NewExpression[callee.name=/^(Redis|Cluster)$/]',
          message:
            'Use connectRedis of @signet/redis: it decides what a Redis that hangs does (decision 0155).',
        },
        {
          selector:
            "ImportDeclaration[source.value='node:worker_threads'][importKind!='type'] > ImportSpecifier[imported.name='Worker']",
          message:
            'Use startThread or threadEntry of @signet/threads, which start it from source and from dist.',
        },
        {
          selector:
            ":matches(PropertyDefinition, MethodDefinition[kind!='constructor'])[accessibility='private']",
          message: 'Write #name. Only parameters of constructors are `private`.',
        },
      ],
    },
  },
  {
    // Calls to other servers pass one client, which has the time-outs, the size limits and the refusal of private addresses.
    files: ['apps/auth/src/**/*.ts'],
    ignores: ['apps/auth/src/outbound/**', '**/*.test.ts'],
    rules: {
      'no-restricted-globals': [
        'error',
        ...['fetch', 'XMLHttpRequest', 'WebSocket', 'EventSource'].map((name) => ({
          name,
          message: 'Other servers are called through src/outbound.',
        })),
      ],
      'no-restricted-imports': [
        'error',
        ...['undici', 'http', 'https', 'http2', 'node:http', 'node:https', 'node:http2'].map((name) => ({
          name,
          message: 'Other servers are called through src/outbound.',
        })),
      ],
    },
  },
  {
    files: ['**/*.{js,mjs}'],
    languageOptions: {
      globals: {
        process: 'readonly',
        performance: 'readonly',
        console: 'readonly',
        URL: 'readonly',
        setTimeout: 'readonly',
        clearTimeout: 'readonly',
        setInterval: 'readonly',
        clearInterval: 'readonly',
        Buffer: 'readonly',
        fetch: 'readonly',
        AbortSignal: 'readonly',
      },
    },
  },
)
