// Rules of this repository for oxlint (.oxlintrc.json).
import { accountInStores } from './account-in-stores.mjs'

const restrictedSyntax = {
  meta: { schema: false },
  create: (context) =>
    Object.fromEntries(
      context.options.map(({ selector, message }) => [selector, (node) => context.report({ node, message })]),
    ),
}

export default {
  meta: { name: 'signet' },
  rules: {
    // ESLint's rule of that name: what a selector finds is an error, with the words given for it.
    'restricted-syntax': restrictedSyntax,
    // The same rule under two more names, because the options of an override replace those of an earlier one.
    'restricted-in-services': restrictedSyntax,
    'restricted-outside-stores': restrictedSyntax,
    // An id alone must not find another account's rows.
    'account-in-stores': accountInStores,
  },
}
