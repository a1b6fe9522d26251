// Prints whether the library accepts each delivery from stdin, a JSON list of objects with secret, headers and body.
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func main() {
	var cases []struct {
		Secret, Body string
		Headers      map[string]string
	}
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		panic(err)
	}
	for _, c := range cases {
		header := http.Header{}
		for name, value := range c.Headers {
			header.Set(name, value)
		}
		webhook, err := standardwebhooks.NewWebhook(c.Secret)
		if err != nil {
			panic(err)
		}
		if webhook.Verify([]byte(c.Body), header) == nil {
			fmt.Println("accepted")
		} else {
			fmt.Println("refused")
		}
	}
}
