import js from '@eslint/js'
import tseslint from 'typescript-eslint'

export default tseslint.config(
  { ignores: ['**/dist/', '**/node_modules/', '.cache/', '.data/', '**/*.cjs'] },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
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
      'infra/local/**/*.ts',
      'packages/{testkit,webhook-testkit,cli}/**/*.ts',
      '**/*.test.ts',
      '**/{test,bench,chaos}/**/*.ts',
    ],
    rules: { 'no-restricted-properties': 'off', 'no-console': 'off' },
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
