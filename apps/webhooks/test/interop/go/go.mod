module signet.example/interop

go 1.23.0

require (
	github.com/standard-webhooks/standard-webhooks/libraries v0.0.1
	golang.org/x/oauth2 v0.30.0
)
