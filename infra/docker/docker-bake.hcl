# `docker buildx bake -f infra/docker/docker-bake.hcl`: the images of a release. Settings come from the environment.
variable "REGISTRY" { default = "signet" }
variable "VERSION" { default = "dev" }
# What an image is called until it has passed its scan.
variable "TAG" { default = VERSION }
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
  tags       = ["${REGISTRY}/${app}:${TAG}"]
  platforms  = ["linux/amd64", "linux/arm64"]
  labels = {
    "org.opencontainers.image.title"    = "signet-${app}"
    "org.opencontainers.image.version"  = VERSION
    "org.opencontainers.image.revision" = REVISION
    "org.opencontainers.image.licenses" = "Apache-2.0"
  }
}
