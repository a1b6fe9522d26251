"""One grant with Authlib: the address to approve, then tokens, then their successors, then nothing. A line each."""

import json
import sys

import requests
from authlib.common.security import generate_token
from authlib.integrations.requests_client import OAuth2Session


def say(**members):
    print(json.dumps(members), flush=True)


given = json.loads(sys.argv[1])
server = requests.get(given["issuer"] + "/.well-known/oauth-authorization-server", timeout=60).json()
session = OAuth2Session(
    given["client_id"],
    given.get("client_secret"),
    token_endpoint_auth_method=given["method"],
    revocation_endpoint_auth_method=given["method"],
    redirect_uri=given["redirect_uri"],
    scope="mcp:connect",
    code_challenge_method="S256",
)
verifier = generate_token(48)
url, state = session.create_authorization_url(server["authorization_endpoint"], code_verifier=verifier)
say(url=url)
callback = sys.stdin.readline().strip()
token = session.fetch_token(
    server["token_endpoint"], authorization_response=callback, state=state, code_verifier=verifier
)
say(access_token=token["access_token"], refresh_token=token["refresh_token"])
sys.stdin.readline()
token = session.refresh_token(server["token_endpoint"], refresh_token=token["refresh_token"])
say(access_token=token["access_token"], refresh_token=token["refresh_token"])
sys.stdin.readline()
answer = session.revoke_token(
    server["revocation_endpoint"], token=token["refresh_token"], token_type_hint="refresh_token"
)
answer.raise_for_status()
say(revoked=True)
