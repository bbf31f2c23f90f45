package double

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Event is an event of the account, as it is sent.
type Event struct {
	ID, Type string
	Body     []byte
}

// emit adds an event about an object, with its state at this moment.
func (d *Double) emit(kind string, about object) {
	id := fmt.Sprintf("evt_3Double%06d", len(d.events)+1)
	body, err := json.Marshal(object{
		"id": id, "object": "event", "type": kind, "created": d.seconds(), "livemode": false, "api_version": "2026-02-25.clover", "data": object{"object": about},
	})
	if err != nil {
		panic(err)
	}
	d.events = append(d.events, &Event{ID: id, Type: kind, Body: body})
}

// Events returns the events since the newest call of Undelivered, and all before.
func (d *Double) Events() []*Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]*Event(nil), d.events...)
}

// Undelivered returns the events that no call of it has returned before.
func (d *Double) Undelivered() []*Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	fresh := append([]*Event(nil), d.events[d.delivered:]...)
	d.delivered = len(d.events)
	return fresh
}

// Signature returns the value of Stripe-Signature for a body.
func Signature(secret string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%d.", at.Unix())
	mac.Write(body)
	return fmt.Sprintf("t=%d,v1=%s", at.Unix(), hex.EncodeToString(mac.Sum(nil)))
}

// Deliver sends an event once, and returns the receiver's status.
func (d *Double) Deliver(ctx context.Context, client *http.Client, url string, e *Event) (int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(e.Body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Stripe-Signature", Signature(d.WebhookSecret, d.Now(), e.Body))
	response, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode, nil
}
