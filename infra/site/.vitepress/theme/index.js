// Fonts of the reader's system: nothing to load.
export { default } from 'vitepress/theme-without-fonts'
import './style.css'
