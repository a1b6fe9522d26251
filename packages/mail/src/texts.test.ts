import { describe, expect, it } from '@jest/globals'
import { catalogueFaults } from '@signet/language/checks'
import { layoutCatalogues } from './texts.js'

describe('the texts around every email', () => {
  it('are the same in every language', () => {
    expect(catalogueFaults(layoutCatalogues)).toEqual([])
  })
})
