# frozen_string_literal: true

require 'json'
require 'openssl'

# Verifies deliveries of Signet webhooks. Ruby 3.0 or later, standard library only.
#
#   event = SignetWebhook.new(secret).verify(raw_body, headers)
#
# Copy this file into your program. It is checked against vectors.json of @signet/webhook-verify.
class SignetWebhook
  # A delivery to answer 400. The message says why, in one word; it is safe to log.
  class Refused < StandardError; end

  # secrets: whsec_..., or several while one replaces another.
  def initialize(secrets, tolerance_seconds: 300)
    @secrets = Array(secrets)
    raise ArgumentError, 'no secret was given' if @secrets.empty?

    @keys = @secrets.map { |secret| standard_key(secret) }
    @tolerance_seconds = tolerance_seconds
  end

  # Returns the event, or raises Refused.
  #
  # raw_body: request.raw_post in Rails, request.body.read in Sinatra.
  # headers: request.headers in Rails, request.env in Sinatra and Rack, or a hash by the names of the headers.
  def verify(raw_body, headers, now: Time.now)
    received = headers.to_h.transform_keys { |name| name.to_s.downcase.tr('_', '-').delete_prefix('http-') }
    # The Standard Webhooks headers come first: while one secret replaces another, they carry the signatures of both.
    timestamp, claimed, expected =
      received.key?('webhook-signature') ? standard(received, raw_body.b) : service(received, raw_body.b)
    raise Refused, 'signature_mismatch' unless any_equal?(expected, claimed)

    age = now.to_i - timestamp.to_i
    raise Refused, 'timestamp_too_old' if age > @tolerance_seconds
    raise Refused, 'timestamp_in_future' if -age > @tolerance_seconds

    event(raw_body)
  end

  private

  def standard(received, body)
    id = header(received, 'webhook-id')
    timestamp = timestamp(received, 'webhook-timestamp')
    claimed = header(received, 'webhook-signature').split(' ')
    message = "#{id}.#{timestamp}.".b + body
    [timestamp, claimed, @keys.map { |key| "v1,#{[OpenSSL::HMAC.digest('SHA256', key, message)].pack('m0')}" }]
  end

  def service(received, body)
    timestamp = timestamp(received, 'x-service-timestamp')
    signature = header(received, 'x-service-signature')
    raise Refused, 'malformed_header' unless signature.b.match?(/\Asha256=[0-9a-f]{64}\z/n)

    message = "#{timestamp}.".b + body
    [timestamp, [signature], @secrets.map { |one| "sha256=#{OpenSSL::HMAC.hexdigest('SHA256', one, message)}" }]
  end

  # Every pair is compared, each in constant time.
  def any_equal?(expected, claimed)
    expected.product(claimed).map { |right, given| OpenSSL.secure_compare(right, given) }.any?
  end

  def header(received, name)
    value = received[name].to_s
    raise Refused, 'missing_header' if value.empty?

    value
  end

  def timestamp(received, name)
    value = header(received, name)
    raise Refused, 'malformed_header' unless value.b.match?(/\A[0-9]{1,12}\z/n)

    value
  end

  def standard_key(secret)
    raise ArgumentError, 'the secret must be whole, with its whsec_ in front' unless secret.to_s.start_with?('whsec_')

    encoded = secret.delete_prefix('whsec_')
    known = encoded.match?(%r{\A[A-Za-z0-9+/_-]+={0,2}\z})
    key = known ? encoded.delete('=').tr('-_', '+/').unpack1('m') : ''
    return key if key.bytesize.between?(24, 64)

    raise ArgumentError, 'after whsec_ the secret must be the Base64 of 24 to 64 bytes; was it cut?'
  end

  def event(raw_body)
    event = JSON.parse(raw_body.dup.force_encoding(Encoding::UTF_8))
    known = event.is_a?(Hash) && event['data'].is_a?(Hash)
    raise Refused, 'invalid_payload' unless known && %w[id type created_at].all? { |name| event[name].is_a?(String) }

    event
  rescue JSON::ParserError
    raise Refused, 'invalid_payload'
  end
end
