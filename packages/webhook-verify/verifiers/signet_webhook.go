// Package signetwebhook verifies deliveries of Signet webhooks. Go 1.21 or later, standard library only.
//
// Copy this file into your program. It is checked against vectors.json of @signet/webhook-verify.
package signetwebhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Refusals are deliveries to answer with 400. Their text is safe to log.
var (
	ErrMissingHeader     = errors.New("missing_header")
	ErrMalformedHeader   = errors.New("malformed_header")
	ErrSignatureMismatch = errors.New("signature_mismatch")
	ErrTimestampTooOld   = errors.New("timestamp_too_old")
	ErrTimestampInFuture = errors.New("timestamp_in_future")
	ErrInvalidPayload    = errors.New("invalid_payload")
)

// ErrInvalidSecret is a mistake of the caller, whatever was received.
var ErrInvalidSecret = errors.New("the secret must be whole: whsec_ and the Base64 of 24 to 64 bytes")

// Event is what every event has; Data depends on Type.
type Event struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	CreatedAt string          `json:"created_at"`
	Data      json.RawMessage `json:"data"`
}

// Verifier holds what does not change between deliveries. Secrets has several while one replaces another.
type Verifier struct {
	Secrets   []string
	Tolerance time.Duration    // 0 means 300 seconds
	Now       func() time.Time // nil means time.Now
}

var (
	timestampForm = regexp.MustCompile(`\A[0-9]{1,12}\z`)
	signatureForm = regexp.MustCompile(`\Asha256=[0-9a-f]{64}\z`)
	base64Form    = regexp.MustCompile(`\A[A-Za-z0-9+/_-]+={0,2}\z`)
)

// Verify needs the body as read by io.ReadAll(r.Body), before any json.Unmarshal.
func (v Verifier) Verify(rawBody []byte, header http.Header) (Event, error) {
	keys, err := standardKeys(v.Secrets)
	if err != nil {
		return Event{}, err
	}
	var timestamp string
	var claimed, expected []string
	// The Standard Webhooks headers come first: while one secret replaces another, they carry the signatures of both.
	if len(header.Values("Webhook-Signature")) > 0 {
		id, failed := one(header, "Webhook-Id")
		if failed != nil {
			return Event{}, failed
		}
		if timestamp, err = timestampOf(header, "Webhook-Timestamp"); err != nil {
			return Event{}, err
		}
		signatures, failed := one(header, "Webhook-Signature")
		if failed != nil {
			return Event{}, failed
		}
		claimed = strings.Split(signatures, " ")
		for _, key := range keys {
			sum := mac(key, id+"."+timestamp+".", rawBody)
			expected = append(expected, "v1,"+base64.StdEncoding.EncodeToString(sum))
		}
	} else {
		if timestamp, err = timestampOf(header, "X-Service-Timestamp"); err != nil {
			return Event{}, err
		}
		signature, failed := one(header, "X-Service-Signature")
		if failed != nil {
			return Event{}, failed
		}
		if !signatureForm.MatchString(signature) {
			return Event{}, ErrMalformedHeader
		}
		claimed = []string{signature}
		for _, secret := range v.Secrets {
			expected = append(expected, "sha256="+hex.EncodeToString(mac([]byte(secret), timestamp+".", rawBody)))
		}
	}

	if !anyEqual(expected, claimed) {
		return Event{}, ErrSignatureMismatch
	}
	if err := v.requireFresh(timestamp); err != nil {
		return Event{}, err
	}
	return parse(rawBody)
}

func (v Verifier) requireFresh(timestamp string) error {
	now, tolerance := time.Now, v.Tolerance
	if v.Now != nil {
		now = v.Now
	}
	if tolerance == 0 {
		tolerance = 300 * time.Second
	}
	signedAt, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil {
		return ErrMalformedHeader
	}
	// Whole seconds, as the sender's.
	age := time.Duration(now().Unix()-signedAt) * time.Second
	if age > tolerance {
		return ErrTimestampTooOld
	}
	if -age > tolerance {
		return ErrTimestampInFuture
	}
	return nil
}

func anyEqual(expected, claimed []string) bool {
	equal := false
	for _, right := range expected {
		for _, given := range claimed {
			if hmac.Equal([]byte(right), []byte(given)) {
				equal = true
			}
		}
	}
	return equal
}

func one(header http.Header, name string) (string, error) {
	values := header.Values(name)
	if len(values) == 0 || values[0] == "" {
		return "", ErrMissingHeader
	}
	if len(values) > 1 {
		return "", ErrMalformedHeader
	}
	return values[0], nil
}

func timestampOf(header http.Header, name string) (string, error) {
	value, err := one(header, name)
	if err == nil && !timestampForm.MatchString(value) {
		err = ErrMalformedHeader
	}
	return value, err
}

func mac(key []byte, prefix string, body []byte) []byte {
	sum := hmac.New(sha256.New, key)
	sum.Write([]byte(prefix))
	sum.Write(body)
	return sum.Sum(nil)
}

func standardKeys(secrets []string) ([][]byte, error) {
	var keys [][]byte
	for _, secret := range secrets {
		encoded, whole := strings.CutPrefix(secret, "whsec_")
		if !whole || !base64Form.MatchString(encoded) {
			return nil, ErrInvalidSecret
		}
		plain := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(encoded, "="))
		key, err := base64.RawStdEncoding.DecodeString(plain)
		if err != nil || len(key) < 24 || len(key) > 64 {
			return nil, ErrInvalidSecret
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, ErrInvalidSecret
	}
	return keys, nil
}

func parse(rawBody []byte) (Event, error) {
	var event Event
	if json.Unmarshal(rawBody, &event) != nil || event.ID == "" || event.Type == "" || event.CreatedAt == "" {
		return Event{}, ErrInvalidPayload
	}
	if len(event.Data) == 0 || event.Data[0] != '{' {
		return Event{}, ErrInvalidPayload
	}
	return event, nil
}
