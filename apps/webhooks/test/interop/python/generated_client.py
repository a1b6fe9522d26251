"""Generates a client from the document with openapi-python-client, and creates, lists and deletes an endpoint with it."""

import importlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

document, base_url, token = sys.argv[1:]
URL = "https://app.example.com/hooks"


def generate(folder):
    config = Path(folder, "config.json")
    # Without hooks: the generator would format its output with a program that may be missing.
    config.write_text(json.dumps({"post_hooks": []}))
    # The generator warns when it leaves out a part of the document.
    command = [
        *(sys.executable, "-m", "openapi_python_client", "generate", "--path", document, "--meta", "none"),
        *("--output-path", os.path.join(folder, "signet_client"), "--config", str(config), "--fail-on-warning"),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stdout + done.stderr)


def use():
    def generated(name):
        return importlib.import_module(f"signet_client.{name}")

    webhooks = "api.webhooks"
    create, list_all, delete = (
        generated(f"{webhooks}.{name}") for name in ("create_webhook", "list_webhooks", "delete_webhook")
    )
    models = generated("models")
    client = generated("client").AuthenticatedClient(base_url=base_url, token=token, raise_on_unexpected_status=True)
    event = models.CreateWebhookBodyEventsType0Item.SUMMARY_COMPLETED
    created = create.sync(client=client, body=models.CreateWebhookBody(url=URL, events=[event]))
    listed = list_all.sync(client=client)
    refused = create.sync(client=client, body=models.CreateWebhookBody(url="http://app.example.com"))
    deleted = delete.sync(created.endpoint_id, client=client)
    left = list_all.sync(client=client)
    return {
        "status": created.status,
        "listed": [item.url for item in listed.items if item.id == created.endpoint_id],
        "refused": refused.error.code,
        "deleted": deleted.ok,
        "left": left.items,
    }


with tempfile.TemporaryDirectory() as folder:
    generate(folder)
    sys.path.insert(0, folder)
    print(json.dumps(use()))
