package management_test

import (
	"fmt"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/httpapi/request"
)

// secretKey is a key with every field.
func secretKey() account.APIKey {
	end := noon.Add(time.Hour)
	return account.APIKey{ID: "key-2", Name: "till", Hash: []byte("hash"), Scopes: []string{"events:read"}, CreatedAt: noon, ExpiresAt: &end}
}

const keyFields = `"id":"key-2","name":"till","scopes":["events:read"],"createdAt":` + noonText + `,"expiresAt":"2026-03-14T13:00:00.000000Z"`

// TestListAPIKeys checks that the list has every field of each key, with the minute of its last
// use. It never has the hash of a key (D20).
func TestListAPIKeys(t *testing.T) {
	r := newRig(t)
	r.merchant.APIKeys = []account.APIKey{secretKey(), {ID: "key-3", Name: "unused", Hash: []byte("hash"), Scopes: []string{"account:read"}, CreatedAt: noon}}
	r.h.KeyUses.Note("key-2", noon.Add(59*time.Second))
	const unused = `{"id":"key-3","name":"unused","scopes":["account:read"],"createdAt":` + noonText + `}`
	r.answered(`{"data":[{` + keyFields + `,"lastUsedAt":` + noonText + `},` + unused + `]}`)(r.h.ListAPIKeys(r.with()))
	cursor := r.page(`{"data":[{` + keyFields + `,"lastUsedAt":` + noonText + `}]`)(r.h.ListAPIKeys(r.query("limit=1")))
	r.answered(`{"data":[` + unused + `]}`)(r.h.ListAPIKeys(r.query("limit=1&cursor=" + cursor)))
	r.invalid("QueryString", "$.cursor", "is not a cursor of this list")(r.h.ListAPIKeys(r.query("cursor=key-2")))
	r.made()
}

// TestPagesOfARevokedKey checks that a page begins behind the last key of the page before, also if
// this key, or one behind it, is gone now (D20).
func TestPagesOfARevokedKey(t *testing.T) {
	r := newRig(t)
	var keys []account.APIKey
	for n, id := range []domain.APIKeyID{"z", "y", "x", "w", "v"} {
		keys = append(keys, account.APIKey{ID: id, CreatedAt: noon.Add(time.Duration(n) * time.Second)})
	}
	text := func(n int) string {
		return fmt.Sprintf(`{"id":%q,"name":"","scopes":null,"createdAt":"2026-03-14T12:00:0%d.000000Z"}`, keys[n].ID, n)
	}
	r.merchant.APIKeys = keys
	cursor := r.page(`{"data":[` + text(0) + `,` + text(1) + `]`)(r.h.ListAPIKeys(r.query("limit=2")))
	next := `{"data":[` + text(2) + `]`
	r.merchant.APIKeys = keys[2:]
	r.page(next)(r.h.ListAPIKeys(r.query("limit=1&cursor=" + cursor)))
	r.merchant.APIKeys = []account.APIKey{keys[0], keys[2], keys[4]}
	r.page(next)(r.h.ListAPIKeys(r.query("limit=1&cursor=" + cursor)))
	r.merchant.APIKeys = keys[4:]
	r.answered(`{"data":[` + text(4) + `]}`)(r.h.ListAPIKeys(r.query("limit=1&cursor=" + cursor)))
	r.merchant.APIKeys = keys[:1]
	r.answered(`{"data":[]}`)(r.h.ListAPIKeys(r.query("limit=1&cursor=" + cursor)))

	keys[2].CreatedAt = noon // another node's clock
	late := `{"id":"x","name":"","scopes":null,"createdAt":"2026-03-14T12:00:00.000000Z"}`
	r.merchant.APIKeys = []account.APIKey{keys[0], keys[2]}
	r.answered(`{"data":[` + late + `]}`)(r.h.ListAPIKeys(r.query("limit=1&cursor=" + cursor)))
}

// TestCreateAPIKey checks that the command gets the fields of the body, and that the answer has the
// text of the key.
func TestCreateAPIKey(t *testing.T) {
	r := newRig(t)
	r.doubles.key, r.shownOnce = secretKey(), "plk_sandbox_text"
	create := request.WithBody(r.h.CreateAPIKey)
	r.answered(`{` + keyFields + `,"apiKey":"plk_sandbox_text"}`)(create(r.body(`{"name":"till","scopes":["events:read"],"expiresAt":"2026-03-14T14:00:00+01:00"}`)))
	end := noon.Add(time.Hour)
	r.changed("CreateAPIKey", account.APIKey{Name: "till", Scopes: []string{"events:read"}, ExpiresAt: &end})

	r.answered(`{` + keyFields + `,"apiKey":"plk_sandbox_text"}`)(create(r.body(`{"name":"till","scopes":["events:read"]}`)))
	r.changed("CreateAPIKey", account.APIKey{Name: "till", Scopes: []string{"events:read"}})
}

// TestScopesOfANewKey checks that a key makes no key with scopes that it lacks. The error names all
// of these scopes and no other (D2).
func TestScopesOfANewKey(t *testing.T) {
	r := newRig(t)
	create := request.WithBody(r.h.CreateAPIKey)
	r.key.Scopes = []string{"account:write", "events:read"}
	r.refused(domain.ReasonMissingScope, "The API key lacks transactions:refund, account:read:")(
		create(r.body(`{"name":"n","scopes":["transactions:refund","account:write","account:read"]}`)))
	r.refused(domain.ReasonMissingScope, "The API key lacks account:read:")(create(r.body(`{"name":"n","scopes":["events:read","account:read"]}`)))
	r.made()
	_, err := create(r.body(`{"name":"n","scopes":["events:read","account:write"]}`))
	must(t, err)
	r.changed("CreateAPIKey", account.APIKey{Name: "n", Scopes: []string{"events:read", "account:write"}})
}

// TestExpiryOfANewKey checks that a key that expires makes no key that expires later, or never
// (D2).
func TestExpiryOfANewKey(t *testing.T) {
	r := newRig(t)
	create := request.WithBody(r.h.CreateAPIKey)
	end := noon.In(time.FixedZone("", 3600))
	r.key.ExpiresAt = &end
	for expires, allowed := range map[string]bool{
		`null`:                             false,
		`"2026-03-14T12:00:00.000001Z"`:    false,
		`"2026-03-14T12:00:00-00:01"`:      false,
		`"2026-03-14T12:00:00"`:            true,
		`"2026-03-14T13:00:00+01:00"`:      true,
		`"2026-03-14T11:59:59.999999Z"`:    true,
		`"2026-03-14T12:00:00.000000999Z"`: true, // of the same microsecond
	} {
		got, err := create(r.body(`{"name":"n","scopes":["events:read"],"expiresAt":` + expires + `}`))
		if allowed {
			must(t, err)
		} else {
			r.invalid("ApiKeyRequest", "$.expiresAt", "must be sent and not be later than 2026-03-14T12:00:00.000000Z, when the API key of this request expires")(got, err)
			r.made()
		}
		r.calls = nil
	}
}

// TestKeyRules: an expiry is a date.
func TestKeyRules(t *testing.T) {
	r := newRig(t)
	for value, want := range map[string][]string{
		`"2099-01-01T00:00:00.5"`:       nil,
		`"2099-01-01T00:00:00+05:30"`:   nil,
		`7`:                             nil, // the schema reports it
		`"01/01/2099"`:                  {"$.expiresAt must be an RFC 3339 date"},
		`"9999-12-31T23:59:59-01:00"`:   {"$.expiresAt must be an RFC 3339 date"},
		`"2026-02-30T00:00:00.000000Z"`: {"$.expiresAt must be an RFC 3339 date"},
	} {
		same(t, value, r.faults("createApiKey", r.body(`{"expiresAt":`+value+`}`)), want)
	}
}

// TestRevokeAPIKey checks that the key of the path is revoked. The answer is the key as it was,
// without its text.
func TestRevokeAPIKey(t *testing.T) {
	r := newRig(t)
	r.doubles.key, r.shownOnce = secretKey(), "plk_sandbox_text"
	r.answered(`{` + keyFields + `}`)(r.h.RevokeAPIKey(r.with("id", "key-2")))
	r.changed("RevokeAPIKey", domain.APIKeyID("key-2"))
}
