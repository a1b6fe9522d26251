// Runs one grant with golang.org/x/oauth2. Prints a line each for the address to approve, the tokens, and their successors.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

func main() {
	var given struct {
		Issuer       string `json:"issuer"`
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
		RedirectURI  string `json:"redirect_uri"`
		Method       string `json:"method"`
	}
	must(json.Unmarshal([]byte(os.Args[1]), &given))
	var server struct {
		Authorization string `json:"authorization_endpoint"`
		Token         string `json:"token_endpoint"`
	}
	response, err := http.Get(given.Issuer + "/.well-known/oauth-authorization-server")
	must(err)
	must(json.NewDecoder(response.Body).Decode(&server))

	style := oauth2.AuthStyleInParams
	if given.Method == "client_secret_basic" {
		style = oauth2.AuthStyleInHeader
	}
	config := oauth2.Config{
		ClientID:     given.ClientID,
		ClientSecret: given.ClientSecret,
		RedirectURL:  given.RedirectURI,
		Scopes:       []string{"mcp:connect"},
		Endpoint:     oauth2.Endpoint{AuthURL: server.Authorization, TokenURL: server.Token, AuthStyle: style},
	}
	verifier := oauth2.GenerateVerifier()
	lines := bufio.NewReader(os.Stdin)
	say(map[string]string{"url": config.AuthCodeURL("state-of-go", oauth2.S256ChallengeOption(verifier))})
	callback, err := lines.ReadString('\n')
	must(err)
	answered, err := url.Parse(strings.TrimSpace(callback))
	must(err)
	ctx := context.Background()
	token, err := config.Exchange(ctx, answered.Query().Get("code"), oauth2.VerifierOption(verifier))
	must(err)
	say(map[string]string{"access_token": token.AccessToken, "refresh_token": token.RefreshToken})
	_, err = lines.ReadString('\n')
	must(err)
	token.Expiry = time.Unix(1, 0)
	token, err = config.TokenSource(ctx, token).Token()
	must(err)
	say(map[string]string{"access_token": token.AccessToken, "refresh_token": token.RefreshToken})
}

func say(members map[string]string) {
	text, err := json.Marshal(members)
	must(err)
	fmt.Println(string(text))
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
