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
    // ESLint's rule of the same name: whatever a selector matches is an error, with the given message.
    'restricted-syntax': restrictedSyntax,
    // The same rule under two more names, because the options of an override replace those of an earlier one.
    'restricted-in-services': restrictedSyntax,
    'restricted-outside-stores': restrictedSyntax,
    // An id alone must not find another account's rows.
    'account-in-stores': accountInStores,
  },
}
