"""An MCP host with the Python SDK: the address to approve, the names of the tools, then the result of each call that is asked for."""

import asyncio
import json
import sys

import httpx2
from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.oauth2 import AuthorizationCodeResult
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata


def say(**members):
    print(json.dumps(members), flush=True)


async def hear():
    return (await asyncio.to_thread(sys.stdin.readline)).strip()


class Storage:
    tokens = None
    client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


async def redirect(url):
    say(url=url)


async def callback():
    parameters = httpx2.URL(await hear()).params
    return AuthorizationCodeResult(
        code=parameters["code"], state=parameters.get("state"), iss=parameters.get("iss")
    )


async def main(given):
    provider = OAuthClientProvider(
        server_url=given["url"],
        client_metadata=OAuthClientMetadata(
            client_name="Python host",
            redirect_uris=[given["redirect_uri"]],
            token_endpoint_auth_method="none",
        ),
        storage=Storage(),
        redirect_handler=redirect,
        callback_handler=callback,
    )
    async with httpx2.AsyncClient(auth=provider, timeout=60) as http:
        async with streamable_http_client(given["url"], http_client=http) as (read, write, *_):
            async with ClientSession(read, write) as session:
                await session.initialize()
                say(tools=[tool.name for tool in (await session.list_tools()).tools])
                while line := await hear():
                    call = json.loads(line)
                    result = await session.call_tool(call["name"], call["arguments"])
                    say(result=result.model_dump(by_alias=True, mode="json", exclude_none=True))


asyncio.run(main(json.loads(sys.argv[1])))
