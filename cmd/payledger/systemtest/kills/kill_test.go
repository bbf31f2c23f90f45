//go:build system

package kills

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/domain"
	"payledger/domain/seedtest"
	"payledger/processorsim/adapter"
	"payledger/processorsim/protocol"
	"payledger/processorsim/simulator"
)

// killCards are used in turn; each ends in its own state.
var killCards = []struct{ number, status, state string }{
	{"4111111111111111", "AUTHORIZED", "SUCCEEDED"},
	{"5555555555554444", "AUTHORIZED", "SUCCEEDED"},
	{"4000000000009995", "DECLINED", "DECLINED"},
	{"4000000000000010", "FAILED", "FAILED"},
	{"378282246310005", "AUTHORIZED", "SUCCEEDED"},
}

// attempt is one create of a round.
type attempt struct {
	card     int
	token    string
	key      string
	amount   int64
	answered *apptest.PaymentAnswer // nil: the process died first
	body     []byte
}

// TestKill9 kills services in the middle of 50 concurrent creates, starts them again and compares,
// round after round: every answered payment is there as it was answered, every other one is
// resolved by asking the processor, none twice, and the processors' books agree payment by payment
// (D8, D9, D14).
func TestKill9(t *testing.T) {
	t.Parallel()
	ledgers, rounds := apptest.KillLedgers, apptest.KillRounds
	if testing.Short() {
		ledgers, rounds = 1, apptest.KillRoundsShort
	}
	for n := range ledgers {
		if !seedtest.Turn(n, 2) {
			continue
		}
		t.Run(strconv.Itoa(n+1), func(t *testing.T) { testKill9(t, uint64(n), rounds) })
	}
}

func testKill9(t *testing.T, ledger uint64, rounds int) {
	t.Parallel()
	random := rand.New(rand.NewPCG(seedtest.Seed(t), ledger))
	sim, err := simulator.New(simulator.Config{Dir: t.TempDir(), Secret: []byte("secret")})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(sim.Handler())
	defer web.Close()
	defer sim.Close()
	books, err := adapter.New(web.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	start := func() *apptest.Process { return apptest.ServeProcess(t, "--data", data, "--processor-url", web.URL) }
	p := start()
	apiKey := p.Credentials.APIKey
	totals := map[string]int{}
	for round := range rounds {
		m := apptest.NewMerchant(p.Ready.API, apiKey)
		attempts := prepare(t, m, round, random)
		killAfter(t, p, m, attempts, random.IntN(apptest.KillConcurrency-5))
		p = start()
		m = apptest.NewMerchant(p.Ready.API, apiKey)
		for _, a := range attempts {
			totals[settle(t, m, books, a)]++
		}
	}
	p.Stop()
	t.Logf("%d rounds: %v", rounds, totals)
	lines, err := books.Books(context.Background(), adapter.Filter{})
	if err != nil || len(lines) != rounds*apptest.KillConcurrency {
		t.Fatalf("the books hold %d operations for %d payments: %v", len(lines), rounds*apptest.KillConcurrency, err)
	}
}

// prepare makes the tokens of a round.
func prepare(t *testing.T, m *apptest.Merchant, round int, random *rand.Rand) []*attempt {
	t.Helper()
	attempts := make([]*attempt, apptest.KillConcurrency)
	for i := range attempts {
		attempts[i] = &attempt{
			card: i % len(killCards), key: fmt.Sprintf("round-%d-%d", round, i), amount: 1 + random.Int64N(100_000),
		}
	}
	var running sync.WaitGroup
	for i, a := range attempts {
		running.Go(func() {
			a.token = m.Token(t, fmt.Sprintf("order-%d-%d", round, i), a.amount, killCards[a.card].number)
		})
	}
	running.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return attempts
}

// killAfter fires all creates at once and kills the process when so many were answered.
func killAfter(t *testing.T, p *apptest.Process, m *apptest.Merchant, attempts []*attempt, answers int) {
	t.Helper()
	var answered atomic.Int64
	var kill sync.Once
	var running, fired sync.WaitGroup
	fired.Add(len(attempts))
	for _, a := range attempts {
		running.Go(func() {
			fired.Done()
			fired.Wait()
			got, err := m.Pay(a.token, a.key)
			if err == nil && got.Status == 200 {
				a.answered, a.body = &apptest.PaymentAnswer{}, got.Body
				got.Decode(t, a.answered)
			} else if err == nil {
				t.Errorf("create %s answered %d %s", a.key, got.Status, got.Body)
			}
			if answered.Add(1) > int64(answers) {
				kill.Do(p.Kill)
			}
		})
	}
	running.Wait()
	m.Client.CloseIdleConnections()
}

// settle checks one payment after the restart, and returns its outcome.
func settle(t *testing.T, m *apptest.Merchant, books *adapter.Adapter, a *attempt) string {
	t.Helper()
	want, what := killCards[a.card], "answered"
	id := ""
	if a.answered != nil {
		id = a.answered.ID
		if _, body := m.Read(t, id); string(body) != string(a.body) {
			t.Fatalf("payment %s was answered as\n%s\nand is now\n%s", id, a.body, body)
		}
	} else {
		id, what = repeat(t, m, a)
	}
	now := apptest.AwaitOutcome(t, m, id)
	if now.Status != want.status || now.Amount != a.amount {
		t.Fatalf("payment %s is %s over %d, expected %s over %d", id, now.Status, now.Amount, want.status, a.amount)
	}
	lines, err := books.Books(context.Background(), adapter.Filter{Reference: domain.PaymentID(id)})
	if err != nil || len(lines) != 1 {
		t.Fatalf("the books hold %d operations of payment %s: %+v %v", len(lines), id, lines, err)
	}
	agree(t, lines[0], now, want.state)
	return what
}

// repeat sends a create again under its key: it was recorded (409 names the payment) or it is made
// now.
func repeat(t *testing.T, m *apptest.Merchant, a *attempt) (id, what string) {
	t.Helper()
	got, err := m.Pay(a.token, a.key)
	if err != nil {
		t.Fatal(err)
	}
	switch got.Status {
	case 200:
		var p apptest.PaymentAnswer
		got.Decode(t, &p)
		return p.ID, "not recorded, made by the repeat"
	case 409:
		var e apptest.ErrorAnswer
		got.Decode(t, &e)
		if e.Error.ErrorID != "IdempotencyKeyAlreadyExists" || e.Error.PaymentID == "" || e.Error.PaymentStatus == "" {
			t.Fatalf("the repeat of %s answered %s", a.key, got.Body)
		}
		return e.Error.PaymentID, "recorded, resolved at the processor"
	default:
		t.Fatalf("the repeat of %s answered %d %s", a.key, got.Status, got.Body)
		return "", ""
	}
}

func agree(t *testing.T, line protocol.Line, p apptest.PaymentAnswer, state string) {
	t.Helper()
	if string(line.State) != state || int64(line.Amount) != p.Amount || string(line.Processor) != p.Processor.Name {
		t.Fatalf("the books say %+v of payment %+v", line, p)
	}
}
