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

// TestRefusedBeforeSent: an operation that the vendor does not get is never recorded as sent.
// Wherever the process ends, a look-up needs no vendor, and a repeat has the one answer.
func TestRefusedBeforeSent(t *testing.T) {
	refusals := map[string]func(*rig) processor.Operation{
		"a token, and the vendor takes none": func(*rig) processor.Operation {
			op := authorization("01p.1", "")
			op.Card = &processor.Card{Token: "tok_secret"}
			return op
		},
		"the vendor refuses it by itself": func(r *rig) processor.Operation {
			r.vendor.refuses = &processor.Answer{State: processor.Failed, Code: protocol.CodeTokenUnknown, Retryable: true}
			return following(processor.Capture, "01p.1", "tx_0", 100)
		},
	}
	for name, make := range refusals {
		for step := range 3 { // 0: it does not end
			r := newRig(t, time.Hour)
			op := make(r)
			r.crashes = step
			first, err := r.k.Send(t.Context(), op)
			if (err != nil) != (step > 0) || step == 0 && first.State != processor.Failed {
				t.Fatalf("%s, step %d: %+v %v", name, step, first, err)
			}
			r.close()
			r.open()
			r.crashes = 0
			want := processor.Known
			if step == 1 {
				want = processor.Unseen
			}
			if l := r.lookup(op.Key); l.State != want {
				t.Errorf("%s, step %d: %+v", name, step, l)
			}
			if doubtful, err := r.k.book.Doubtful(t.Context(), "", time.Time{}); err != nil || len(doubtful) != 0 {
				t.Errorf("%s, step %d: %+v %v", name, step, doubtful, err)
			}
			if a := r.sent(op); a.State != processor.Failed || a.At.IsZero() || r.vendor.calls != 0 {
				t.Errorf("%s, step %d: %+v after %d calls", name, step, a, r.vendor.calls)
			}
		}
	}
}

// TestTokenAfterNumber: a repeat whose card is a token that the vendor does not take says nothing
// about the first try, which had the number.
func TestTokenAfterNumber(t *testing.T) {
	for how, want := range map[mode]processor.State{lostAfter: processor.Succeeded, lostBefore: processor.Failed, refused: processor.Failed} {
		r := newRig(t, time.Hour)
		op := authorization("01p.1", "4242424242424242")
		r.vendor.next = how
		if _, err := r.k.Send(t.Context(), op); err == nil {
			t.Fatal("an answer")
		}
		byToken := op
		byToken.Card = &processor.Card{Token: "tok_secret"}
		a := r.sent(byToken)
		n, _ := r.vendor.count(op.Key)
		if a.State != want || (n == 1) != (want == processor.Succeeded) || want == processor.Failed && a.Code != protocol.CodeNotSupported {
			t.Errorf("mode %d: %+v, done %d times", how, a, n)
		}
		if l := r.lookup(op.Key); l.State != processor.Known || l.Answer.State != want {
			t.Errorf("mode %d: %+v", how, l)
		}
	}
}

// TestRefusalMustFail: a vendor's refusal that is none is no answer.
func TestRefusalMustFail(t *testing.T) {
	r := newRig(t, time.Hour)
	for _, wrong := range []processor.Answer{{State: processor.Succeeded, Code: "x", ProcessorTransactionID: "tx_1"}, {State: processor.Failed}} {
		r.vendor.refuses = &wrong
		if a, err := r.k.Send(t.Context(), authorization("01p.1", "4242424242424242")); err == nil {
			t.Errorf("%+v", a)
		}
	}
	r.vendor.refuses = nil
	if a := r.sent(authorization("01p.1", "4242424242424242")); a.State != processor.Succeeded {
		t.Errorf("%+v", a)
	}
}
