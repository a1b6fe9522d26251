# `docker buildx bake -f infra/docker/docker-bake.hcl`: the images of a release. Settings come from the environment.
variable "REGISTRY" { default = "signet" }
variable "VERSION" { default = "dev" }
variable "REVISION" { default = "" }

group "default" {
  targets = ["app"]
}

target "app" {
  name       = app
  matrix     = { app = ["auth", "webhooks", "dispatcher"] }
  context    = "."
  dockerfile = "infra/docker/Dockerfile"
  target     = app
  tags       = ["${REGISTRY}/${app}:${VERSION}"]
  platforms  = ["linux/amd64", "linux/arm64"]
  labels = {
    "org.opencontainers.image.title"    = "signet-${app}"
    "org.opencontainers.image.version"  = VERSION
    "org.opencontainers.image.revision" = REVISION
    "org.opencontainers.image.licenses" = "Apache-2.0"
  }
}
