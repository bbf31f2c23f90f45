package engine_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/eventstore"
	"payledger/eventstore/format"
)

// vector is one event of testdata/hash.json, in words that any language reads: the hash is SHA-256
// over previous, then "name:value\n" of each header in this order, "\n", and body.
type vector struct {
	Previous string      `json:"previous"`
	Headers  [][2]string `json:"headers"`
	Body     string      `json:"body"`
	Hash     string      `json:"hash"`
}

var vectorFile = filepath.Join("testdata", "hash.json")

func TestHashVectors(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(vectorFile)
	if os.IsNotExist(err) && *update {
		if text, err = json.MarshalIndent(makeVectors(t), "", "  "); err == nil {
			err = os.WriteFile(vectorFile, text, 0o600)
		}
	}
	var vectors []vector
	if err != nil || json.Unmarshal(text, &vectors) != nil || len(vectors) != 2 {
		t.Fatal(err, len(vectors))
	}
	same(t, "vectors of this build", makeVectors(t), vectors)
	same(t, "hashed lines", linesOf(vectors[0]), []string{
		"ce-specversion", "ce-id", "ce-type", "ce-source", "ce-subject", "ce-time", "content-type", "Ledger-Schema", "Ledger-Revision",
		"Ledger-Command-Id", "Ledger-Correlation-Id", "Ledger-Actor",
	})
	previous := strings.Repeat("00", sha256.Size)
	for i, v := range vectors {
		var lines strings.Builder
		for _, header := range v.Headers {
			lines.WriteString(header[0] + ":" + header[1] + "\n")
		}
		sum := sha256.Sum256([]byte(string(unhex(t, v.Previous)) + lines.String() + "\n" + string(unhex(t, v.Body))))
		if v.Previous != previous || hex.EncodeToString(sum[:]) != v.Hash {
			t.Errorf("vector %d: previous %s, hash %x", i, v.Previous, sum)
		}
		previous = v.Hash
	}
	doc, err := os.ReadFile(filepath.Join("..", "doc.go"))
	if err != nil || !strings.Contains(string(doc), vectors[0].Hash) {
		t.Errorf("doc.go does not name the hash %s of the first vector: %v", vectors[0].Hash, err)
	}
}

// linesOf returns the names of a vector's lines in their order.
func linesOf(v vector) (names []string) {
	for _, header := range v.Headers {
		names = append(names, header[0])
	}
	return names
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// makeVectors links the first two events of a payment.
func makeVectors(t *testing.T) []vector {
	t.Helper()
	first, next := examples(t)
	return []vector{vectorOf(eventstore.Hash{}, first), vectorOf(first.Hash, next)}
}

// examples are the first two events of a payment, linked; the second follows in the group after the
// first's, at its fourth frame.
func examples(t testing.TB) (first, next *eventstore.Recorded) {
	t.Helper()
	at := time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)
	amount := domain.Amount(1299)
	created, err := payment.DecideCreate(payment.State{}, payment.Create{
		At: at, ID: "01exampleexampleexampleexam", Account: "example", OrderID: "order-1", Currency: "EUR", Amount: &amount,
		Route: []payment.Target{{Processor: "ADYEN", MerchantID: "merchant"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	state := payment.Evolve(payment.State{}, created)
	timedOut := payment.AuthorizationTimedOut{NoAnswer: payment.NoAnswer{At: at.Add(90 * time.Second), Request: 1}}
	first = example(t, created, state, 1, 0, at)
	first.Hash = first.Link(eventstore.Hash{})
	next = example(t, timedOut, payment.Evolve(state, timedOut), 2, format.At(7, 3), timedOut.At)
	next.Hash = next.Link(first.Hash)
	return first, next
}

func example(t testing.TB, event payment.Event, state payment.State, revision, prevSeq uint64, at time.Time) *eventstore.Recorded {
	t.Helper()
	body, err := eventstore.Payments.Core.Encode("", event, state)
	if err != nil {
		t.Fatal(err)
	}
	return &eventstore.Recorded{
		Key: eventstore.Payments.Key("example", "01exampleexampleexampleexam"), Revision: revision, PrevSeq: prevSeq,
		Type: event.Type(), Schema: 1, EventID: "11111111-1111-4111-8111-111111111111", CommandID: "22222222-2222-4222-8222-222222222222",
		CorrelationID: "request-1", Actor: "key:example", Time: at, Body: body,
	}
}

func vectorOf(previous eventstore.Hash, r *eventstore.Recorded) vector {
	v := vector{Previous: previous.String(), Body: hex.EncodeToString(r.Body), Hash: r.Hash.String()}
	for line := range strings.Lines(string(r.Raw()[:len(r.Raw())-len(r.Body)-1])) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		v.Headers = append(v.Headers, [2]string{name, value})
	}
	return v
}
