"""Whether the library takes each delivery on stdin: a JSON list of secret, headers and body."""

import json
import sys

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

for case in json.load(sys.stdin):
    try:
        Webhook(case["secret"]).verify(case["body"], case["headers"])
        print("accepted")
    except WebhookVerificationError:
        print("refused")
