export { accessibilityFindings, chromiumPath, launchChromium, sidewaysScroll } from '@signet/local/browser'
