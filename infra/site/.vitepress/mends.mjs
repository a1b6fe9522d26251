// Fixes what axe-core reports in VitePress's components while the site is built. Each fix must find the text that it replaces, so that a
// new version of VitePress that needs another one fails the build.
const MENDS = {
  // A heading of the sidebar is a button, and so is the arrow inside of it: a button in a button, of which the outer says nothing.
  'VPSidebarItem.vue': [
    [':role="itemRole"', ':role="itemRole" :aria-expanded="isLink ? undefined : !collapsed"'],
    [/role="button"\s+aria-label="toggle section"/, 'aria-hidden="true"'],
    [/@keydown\.enter="onCaretClick"\s+tabindex="0"/, ''],
  ],
}

/** A plug-in of Vite. */
export const mends = {
  name: 'signet-mends',
  enforce: 'pre',
  transform(code, id) {
    const found = MENDS[/\/theme-default\/components\/(\w+\.vue)$/.exec(id)?.[1]]
    return found?.reduce((text, [from, to]) => {
      const mended = text.replace(from, to)
      if (mended === text)
        throw new Error(`${id} has no ${from}: mends.mjs fits another version of VitePress`)
      return mended
    }, code)
  },
}
