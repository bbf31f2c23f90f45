package connector

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// TestCardTokens: the first answer has the card's token, which is in no file of the kit.
func TestCardTokens(t *testing.T) {
	r := newRig(t, time.Hour)
	r.vendor.tokens = true
	op := authorization("01p.1", "4242424242424242")
	op.Tokenize = true
	first := r.sent(op)
	if first.CardToken != "tok_secret" {
		t.Fatalf("%+v", first)
	}
	if again := r.sent(op); again.CardToken != "" || again.State != first.State || again.ProcessorTransactionID != first.ProcessorTransactionID {
		t.Errorf("%+v after %+v", again, first)
	}
	if l := r.lookup(op.Key); l.Answer.CardToken != "" {
		t.Errorf("%+v", l.Answer)
	}
	must(t, r.k.Entries(context.Background(), protocol.Filter{}, func(e protocol.Entry) error {
		if e.Answer.CardToken != "" {
			t.Errorf("%+v", e)
		}
		return nil
	}))
	byToken := authorization("01p.2", "")
	byToken.Card = &processor.Card{Token: "tok_secret"}
	if a := r.sent(byToken); a.State != processor.Succeeded {
		t.Errorf("%+v", a)
	}
	files, err := filepath.Glob(filepath.Join(r.dir, "*"))
	must(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(text), "tok_secret") {
			t.Errorf("%s has the token", file)
		}
	}
	if len(files) == 0 {
		t.Error("there are no files")
	}
}

// TestTokensNotSupported: a vendor without tokens never gets one. The refusal is a fact, and stays.
func TestTokensNotSupported(t *testing.T) {
	r := newRig(t, time.Hour)
	op := authorization("01p.1", "")
	op.Card = &processor.Card{Token: "tok_secret"}
	refused := r.sent(op)
	if refused.State != processor.Failed || refused.Code != protocol.CodeNotSupported || r.vendor.calls != 0 {
		t.Errorf("%+v after %d calls", refused, r.vendor.calls)
	}
	r.vendor.tokens = true // a later version of the connector
	if again := r.sent(op); again.State != processor.Failed || r.vendor.calls != 0 {
		t.Errorf("%+v after %d calls", again, r.vendor.calls)
	}
}
