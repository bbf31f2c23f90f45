package servicetest

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/apptest"
)

// cardAnswersLater: the authorization is pending, its result comes by notification (D13).
const cardAnswersLater = "4000000000003220"

// logBuffer is a log that can be read while it is written.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), text)
}

// TestNotificationArrives: the processors of the same process know where to notify, and are
// believed (D14).
func TestNotificationArrives(t *testing.T) {
	t.Parallel()
	for name, secret := range map[string]string{"derived secret": "", "--processor-secret": "shared with the processors"} {
		t.Run(name, func(t *testing.T) {
			o, log := apptest.TestOptions(t.TempDir()), &logBuffer{}
			o.ProcessorSecret = []string{secret}
			app, err := app.Start(context.Background(), o, zerolog.New(log))
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := app.Stop(); err != nil {
					t.Error(err)
				}
			}()
			m := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey)
			got, err := m.Pay(m.Token(t, "order-1", 2500, cardAnswersLater), "key-1")
			if err != nil || got.Status != 200 {
				t.Fatal(got.Status, string(got.Body), err)
			}
			var p apptest.PaymentAnswer
			got.Decode(t, &p)
			if p.Status != "PENDING" {
				t.Fatalf("created as %+v", p)
			}
			if _, err := app.Processors.Control().Settle(context.Background()); err != nil {
				t.Fatal(err)
			}
			if now := apptest.AwaitOutcome(t, m, p.ID); now.Status != "AUTHORIZED" {
				t.Fatalf("the payment ended as %+v", now)
			}
			const received = `"route":"/processors/{name}/notifications","status":200`
			tick := time.NewTicker(5 * time.Millisecond)
			defer tick.Stop()
			for deadline := time.Now().Add(apptest.SettleDeadline); log.count(received) == 0; <-tick.C {
				if time.Now().After(deadline) {
					t.Fatal("no notification arrived")
				}
			}
		})
	}
}
