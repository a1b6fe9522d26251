<?php

declare(strict_types=1);

/** A delivery to answer 400. The message says why, in one word; it is safe to log. */
final class SignetWebhookRefused extends RuntimeException
{
}

/**
 * Verifies deliveries of Signet webhooks. PHP 8.1 or later, no extensions.
 *
 *     $event = (new SignetWebhook($secret))->verify(file_get_contents('php://input'), getallheaders());
 *
 * Copy this file into your program. It is checked against vectors.json of @signet/webhook-verify.
 */
final class SignetWebhook
{
    /** @var list<string> */
    private array $secrets;
    /** @var list<string> */
    private array $keys;

    /** @param string|list<string> $secrets whsec_…, or several while one replaces another */
    public function __construct(string|array $secrets, private int $toleranceSeconds = 300)
    {
        $this->secrets = array_values((array) $secrets);
        $this->keys = array_map(self::standardKey(...), $this->secrets);
        if ($this->keys === []) {
            throw new InvalidArgumentException('no secret was given');
        }
    }

    /**
     * Returns the event, or throws SignetWebhookRefused.
     *
     * @param string $rawBody the bytes as received, before json_decode
     * @param array<string, string|list<string>> $headers getallheaders(), or $request->headers->all() in Symfony and Laravel
     * @return array<string, mixed>
     */
    public function verify(string $rawBody, array $headers, ?int $now = null): array
    {
        $received = array_change_key_case($headers, CASE_LOWER);
        // The Standard Webhooks headers come first: while one secret replaces another, they carry the signatures of both.
        if (isset($received['webhook-signature'])) {
            $id = self::header($received, 'webhook-id');
            $timestamp = self::timestamp($received, 'webhook-timestamp');
            $claimed = explode(' ', self::header($received, 'webhook-signature'));
            $message = "$id.$timestamp.$rawBody";
            $sign = fn (string $key): string => 'v1,' . base64_encode(hash_hmac('sha256', $message, $key, true));
            $expected = array_map($sign, $this->keys);
        } else {
            $timestamp = self::timestamp($received, 'x-service-timestamp');
            $claimed = [self::header($received, 'x-service-signature')];
            if (preg_match('/\Asha256=[0-9a-f]{64}\z/', $claimed[0]) !== 1) {
                throw new SignetWebhookRefused('malformed_header');
            }
            $sign = fn (string $secret): string => 'sha256=' . hash_hmac('sha256', "$timestamp.$rawBody", $secret);
            $expected = array_map($sign, $this->secrets);
        }
        if (!self::anyEqual($expected, $claimed)) {
            throw new SignetWebhookRefused('signature_mismatch');
        }
        $age = ($now ?? time()) - (int) $timestamp;
        if ($age > $this->toleranceSeconds) {
            throw new SignetWebhookRefused('timestamp_too_old');
        }
        if (-$age > $this->toleranceSeconds) {
            throw new SignetWebhookRefused('timestamp_in_future');
        }
        return self::event($rawBody);
    }

    /**
     * @param list<string> $expected
     * @param list<string> $claimed
     */
    private static function anyEqual(array $expected, array $claimed): bool
    {
        $equal = false;
        foreach ($expected as $right) {
            foreach ($claimed as $given) {
                $equal = hash_equals($right, $given) || $equal;
            }
        }
        return $equal;
    }

    /** @param array<string, string|list<string>> $received */
    private static function header(array $received, string $name): string
    {
        $values = array_values((array) ($received[$name] ?? []));
        if (($values[0] ?? '') === '') {
            throw new SignetWebhookRefused('missing_header');
        }
        if (count($values) > 1) {
            throw new SignetWebhookRefused('malformed_header');
        }
        return $values[0];
    }

    /** @param array<string, string|list<string>> $received */
    private static function timestamp(array $received, string $name): string
    {
        $value = self::header($received, $name);
        if (preg_match('/\A[0-9]{1,12}\z/', $value) !== 1) {
            throw new SignetWebhookRefused('malformed_header');
        }
        return $value;
    }

    private static function standardKey(string $secret): string
    {
        if (!str_starts_with($secret, 'whsec_')) {
            throw new InvalidArgumentException('the secret must be whole, with its whsec_ in front');
        }
        $encoded = substr($secret, strlen('whsec_'));
        $known = preg_match('/\A[A-Za-z0-9+\/_-]+={0,2}\z/', $encoded) === 1;
        $key = $known ? base64_decode(strtr(rtrim($encoded, '='), '-_', '+/')) : '';
        if (strlen($key) < 24 || strlen($key) > 64) {
            throw new InvalidArgumentException('after whsec_ it must be the Base64 of 24 to 64 bytes; was it cut?');
        }
        return $key;
    }

    /** @return array<string, mixed> */
    private static function event(string $rawBody): array
    {
        // An empty object and an empty list are the same array in PHP, so the text tells that it is an object.
        $event = str_starts_with(ltrim($rawBody), '{') ? json_decode($rawBody, true) : null;
        foreach (['id', 'type', 'created_at'] as $name) {
            if (!is_string($event[$name] ?? null)) {
                throw new SignetWebhookRefused('invalid_payload');
            }
        }
        if (!is_array($event['data'] ?? null)) {
            throw new SignetWebhookRefused('invalid_payload');
        }
        return $event;
    }
}
