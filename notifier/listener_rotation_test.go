package notifier

import (
	"context"
	"slices"
	"testing"

	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/notifier/delivery"
	"payledger/notifier/listener"
	"payledger/notifier/signature"
)

// TestListenerSignatures checks that a listener's reader gets the same signatures as an endpoint,
// in the same headers, also during a rotation (§5.2 rule 3). The listener's own secret signs in its
// own header, and in the second one while no previous secret uses it (D18).
func TestListenerSignatures(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	hub := &listener.Hub{Key: []byte("a key")}
	r.config.Listeners = hub
	r.start()
	lane := listener.Endpoint{Account: merchantID, ID: r.endpoint(account.ListenerURL)}.Lane()
	stream, err := hub.Open(r.context, lane)
	r.must(err)
	own := hub.Secret(lane)
	for _, c := range []struct {
		when      string
		primary   string
		secondary string
		keys      int
	}{{"before", secretText, own, 2}, {"during", secondText, secretText, 3}} {
		if c.when == "during" {
			r.rotate()
		}
		r.pay(processor.Succeeded)
		ctx, cancel := context.WithTimeout(r.context, patience)
		e, err := stream.Next(ctx)
		cancel()
		r.must(err)
		end, err := e.Begin()
		r.must(err)
		end()
		for header, secret := range map[string]string{signature.HeaderPrimary: c.primary, signature.HeaderSecondary: c.secondary, signature.HeaderListener: own} {
			if e.Header[header] != signature.Sign(secret, []byte(e.Body)) {
				t.Errorf("%s a rotation: %s is the signature of another secret", c.when, header)
			}
		}
		r.must(hub.Answer(r.context, lane, e.ID, listener.Answer{Status: 204}))
		r.until("signed "+c.when, func(d delivery.Delivery) bool {
			if d.Status != delivery.Succeeded || len(d.Attempts[0].Keys) != c.keys {
				return false
			}
			name := "listener." + string(d.Endpoint)
			want := map[string][]string{"before": {string(secretName), name}, "during": {string(secondName), string(secretName), name}}[c.when]
			return slices.Equal(d.Attempts[0].Keys, want)
		})
	}
}
