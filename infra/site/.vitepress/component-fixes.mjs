// Fixes problems that axe-core reports in VitePress's components while the site is built. Each fix must find the text that it replaces,
// so that the build fails if a new version of VitePress needs another fix.
const FIXES = {
  // A heading in the sidebar is a button, and so is the arrow inside it. With this, screen readers get one button that says whether it
  // is open.
  'VPSidebarItem.vue': [
    [':role="itemRole"', ':role="itemRole" :aria-expanded="isLink ? undefined : !collapsed"'],
    [/role="button"\s+aria-label="toggle section"/, 'aria-hidden="true"'],
    [/@keydown\.enter="onCaretClick"\s+tabindex="0"/, ''],
  ],
}

/** A Vite plug-in. */
export const componentFixes = {
  name: 'signet-component-fixes',
  enforce: 'pre',
  transform(code, id) {
    const found = FIXES[/\/theme-default\/components\/(\w+\.vue)$/.exec(id)?.[1]]
    return found?.reduce((text, [from, to]) => {
      const fixed = text.replace(from, to)
      if (fixed === text)
        throw new Error(`${id} has no ${from}: component-fixes.mjs fits another version of VitePress`)
      return fixed
    }, code)
  },
}
