# verify_webhook FILE PRIMARY SECONDARY SECRET... succeeds for a genuine webhook. FILE has the raw body, PRIMARY and SECONDARY
# are the two headers ("" if absent). Give two secrets during a rotation. Needs openssl and jq. Use it to check by hand: other
# users of the machine can read a command's arguments.
verify_webhook() {
  local file=$1 primary=$2 secondary=$3 secret expected fits=no
  shift 3
  for secret in "$@"; do
    [ -n "$secret" ] || return 1
    expected=$(openssl dgst -sha256 -hmac "$secret" -binary "$file" | openssl base64 -A)
    if [ "$primary" = "$expected" ] || [ "$secondary" = "$expected" ]; then fits=yes; fi
  done
  [ "$fits" = yes ] || return 1
  jq -es --argjson now "${NOW:-$(date +%s)}" --argjson tolerance "${TOLERANCE:-180}" '
    length == 1 and (.[0] | type == "object" and
      if has("signedAt") then
        (.signedAt | type == "string" and test("^[0-9]{1,12}$") and ((tonumber - $now) | fabs) <= $tolerance)
      else # the test message
        keys == ["message"] and (.message | type == "string")
      end)' "$file" > /dev/null
}
