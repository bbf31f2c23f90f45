package webhookpages

import (
	"slices"
	"testing"
)

// TestSignatures: an attempt's page names the header and the secret of each signature, also of a
// listener's, during a rotation and outside of one (§5.2, D18).
func TestSignatures(t *testing.T) {
	const primary, secondary, third = "X-Signature-Primary", "X-Signature-Secondary", "X-Signature-Listener"
	const own = "the listener's own secret"
	for _, c := range []struct {
		keys []string
		want []signed
	}{
		{nil, nil},
		{[]string{"signing-secret.a.1"}, []signed{{primary, "signing secret 1"}}},
		{[]string{"signing-secret.a.2", "signing-secret.a.1"}, []signed{{primary, "signing secret 2"}, {secondary, "the previous one, signing secret 1"}}},
		{[]string{"signing-secret.a.1", "listener.e"}, []signed{{primary, "signing secret 1"}, {secondary, own}}},
		{[]string{"signing-secret.a.2", "signing-secret.a.1", "listener.e"}, []signed{
			{primary, "signing secret 2"}, {secondary, "the previous one, signing secret 1"}, {third, own},
		}},
	} {
		a := attempt{Keys: c.keys}
		if got := a.Signatures(); !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, want %v", c.keys, got, c.want)
		}
		d := deliveryView{delivery: delivery{Attempts: []attempt{a}}}
		if reads := len(c.keys) > 0 && ofListener(c.keys[len(c.keys)-1]); d.Listener() != reads {
			t.Errorf("%q: of a listener %t", c.keys, d.Listener())
		}
		d.Endpoint = &endpoint{URL: "https://shop.example/"}
		if d.Listener() {
			t.Errorf("%q: an endpoint with an address is a listener", c.keys)
		}
	}
}
