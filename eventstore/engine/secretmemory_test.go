package engine_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/secretlog"
	"payledger/eventstore/secrets"
)

// twoVaults are two nodes of a cluster, with a clock that the test moves.
func twoVaults(t *testing.T) (here, there *secrets.Store, now *atomic.Int64) {
	t.Helper()
	now = &atomic.Int64{}
	now.Store(time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC).UnixNano())
	c := eventstoretest.Cluster(t)
	c.Shards, c.Now = 1, func() time.Time { return time.Unix(0, now.Load()) }
	vault := func() *secrets.Store {
		return eventstoretest.Secrets(t, eventstoretest.OpenOn(t, c))
	}
	return vault(), vault(), now
}

var somebody = domain.Personal{CardholderName: "A. Person"}

func sealFor(t testing.TB, v *secrets.Store, key domain.SecretID) *domain.Sealed {
	t.Helper()
	sealed, err := v.Seal(testContext(t), key, somebody)
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

func opens(t testing.TB, v *secrets.Store, sealed *domain.Sealed, want bool) {
	t.Helper()
	if got, err := v.Open(testContext(t), sealed); err != nil || got.Empty() == want {
		t.Errorf("opened %+v, %v; wanted something: %t", got, err, want)
	}
}

// TestDestroyedKeyIsForgotten: a destroyed key opens nothing any more, although nodes had it in
// memory: at once on the node that destroyed it, also with concurrent readers, and within two
// seconds on another.
func TestDestroyedKeyIsForgotten(t *testing.T) {
	t.Parallel()
	here, there, now := twoVaults(t)
	for i := range scale(8, 20) {
		key := secrets.PersonalKeyName("acct", fmt.Sprint("customer ", i), "")
		sealed := sealFor(t, here, key)
		opens(t, there, sealed, true)
		var over atomic.Bool
		var reading sync.WaitGroup
		for range 4 {
			reading.Go(func() {
				for !over.Load() {
					if _, err := here.Open(testContext(t), sealed); err != nil {
						t.Error(err)
					}
				}
			})
		}
		err := here.Destroy(testContext(t), key)
		over.Store(true)
		reading.Wait()
		if err != nil {
			t.Fatal(err)
		}
		opens(t, here, sealed, false)
		now.Add(int64(2 * time.Second))
		opens(t, there, sealed, false)
	}
}

// TestDestroyedCardIsForgotten: when a minute's cards were destroyed by one node, another that took
// one of them in does not show it any more.
func TestDestroyedCardIsForgotten(t *testing.T) {
	t.Parallel()
	here, there, now := twoVaults(t)
	ref := secrets.CardRef{Account: "acct", Token: "01token", TokenizedAt: time.Unix(0, now.Load())}
	if err := there.PutCard(testContext(t), ref, processor.Card{Number: "4111111111111111", CVV: "737"}, ref.TokenizedAt.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if card, err := there.Card(testContext(t), ref, ref.TokenizedAt); err != nil || card.CVV != "737" {
		t.Fatal(card.CVV, err)
	}
	now.Add(int64(10 * time.Minute))
	nobody := func(context.Context, domain.AccountID, domain.Token, time.Time) (time.Time, error) {
		return time.Time{}, nil
	}
	if n, err := eventstoretest.CleanCards(testContext(t), here, time.Unix(0, now.Load()), nobody); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	if card, err := there.Card(testContext(t), ref, ref.TokenizedAt); !errors.Is(err, secrets.ErrGone) {
		t.Errorf("the card is still shown, with CVV %q: %v", card.CVV, err)
	}
}

// TestDestroyedVaultedCardIsForgotten: a vaulted card that was destroyed pays no more, although
// nodes had it in memory: at once on the node that destroyed it, also with concurrent readers, and
// within two seconds on another. A new vaulted card under the token does.
func TestDestroyedVaultedCardIsForgotten(t *testing.T) {
	t.Parallel()
	here, there, now := twoVaults(t)
	ref := secrets.CardRef{Account: "acct", Token: "01token", TokenizedAt: time.Unix(0, now.Load())}
	vaulted := secrets.CardRef{Account: ref.Account, Token: ref.Token}
	shown := func(v *secrets.Store) error {
		card, err := v.Card(testContext(t), vaulted, ref.TokenizedAt)
		if err == nil && (card.Number != "4111111111111111" || card.CVV != "") {
			t.Errorf("the vaulted card is %s, with CVV %q", card.Number, card.CVV)
		}
		return err
	}
	if err := here.PutCard(testContext(t), ref, processor.Card{Number: "4111111111111111", CVV: "737"}, ref.TokenizedAt.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := here.KeepCard(testContext(t), ref, secrets.PersonalKeyName("acct", "customer", "")); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(shown(here), shown(there)); err != nil {
			t.Fatal(err)
		}
		var over atomic.Bool
		var reading sync.WaitGroup
		for range 4 {
			reading.Go(func() {
				for !over.Load() {
					if err := shown(here); err != nil && !errors.Is(err, secrets.ErrGone) {
						t.Error(err)
					}
				}
			})
		}
		err := here.DestroyKept(testContext(t), vaulted)
		over.Store(true)
		reading.Wait()
		if err != nil {
			t.Fatal(err)
		}
		if err := shown(here); !errors.Is(err, secrets.ErrGone) {
			t.Errorf("the node that destroyed the card still shows it: %v", err)
		}
		now.Add(int64(2 * time.Second))
		if err := shown(there); !errors.Is(err, secrets.ErrGone) {
			t.Errorf("another node still shows the card: %v", err)
		}
	}
}

// interrupted is a source of random bytes that calls another node in between, once.
type interrupted struct {
	io.Reader
	call func()
}

func (i *interrupted) Read(p []byte) (int, error) {
	if call := i.call; call != nil {
		i.call = nil
		call()
	}
	return i.Reader.Read(p)
}

// TestCardOfAnEndedMinute: a node destroys the key of the minute while a card is being sealed under
// it, in a process that stood still for minutes. The card is stored again, and opens.
func TestCardOfAnEndedMinute(t *testing.T) {
	t.Parallel()
	random := &interrupted{Reader: rand.Reader}
	m := newMinute(t, random)
	m.put("01before") // makes the key of the minute
	destroyed := 0
	random.call = func() {
		nobody := func(context.Context, domain.AccountID, domain.Token, time.Time) (time.Time, error) {
			return time.Time{}, nil
		}
		var err error
		if destroyed, err = eventstoretest.CleanCards(testContext(t), m.ahead, m.now.Add(10*time.Minute), nobody); err != nil {
			t.Error(err)
		}
		m.now = m.now.Add(2 * time.Second) // a node may remember a key for so long
	}
	ref := m.put("01meanwhile")
	if destroyed == 0 {
		t.Fatal("nothing was destroyed meanwhile")
	}
	m.opens(ref, true)
}

// TestCardBesideAFastClock: a node whose clock is ten minutes ahead takes the present minute for
// over. It lets the minute's key stand for a time that it measures itself, and also if another node
// stores a card while it judges the others (D5.13).
func TestCardBesideAFastClock(t *testing.T) {
	t.Parallel()
	m := newMinute(t, rand.Reader)
	cards, judge := []secrets.CardRef{m.put("01before")}, func() {}
	clean := func() (n int) {
		n, err := m.ahead.Clean(testContext(t), m.now.Add(10*time.Minute), func(context.Context, domain.AccountID, domain.Token, time.Time) (time.Time, error) {
			judge()
			return time.Time{}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, passed := range []time.Duration{0, 90 * time.Second, 30 * time.Second} { // at the end the key is old enough
		if m.ahead.Skip(passed); passed == 30*time.Second {
			judge = func() { cards, judge = append(cards, m.put("01meanwhile")), func() {} }
		}
		if n := clean(); n != 0 {
			t.Errorf("after %s %d cards were destroyed", passed, n)
		}
		m.now = m.now.Add(2 * time.Second)
		for _, ref := range cards {
			m.opens(ref, true)
		}
		m.now = m.now.Add(-2 * time.Second)
	}
	if len(cards) != 2 {
		t.Fatal("no card came meanwhile")
	}
	if n := clean(); n != len(cards) {
		t.Errorf("%d cards were destroyed", n)
	}
	m.now = m.now.Add(2 * time.Second)
	for _, ref := range cards {
		m.opens(ref, false)
	}
}

// minute is two nodes in one minute: here stores cards, and ahead cleans.
type minute struct {
	t           *testing.T
	now         time.Time
	here, ahead *secrets.Store
}

func newMinute(t *testing.T, random io.Reader) *minute {
	t.Helper()
	m := &minute{t: t, now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}
	c := eventstoretest.Cluster(t)
	c.Shards, c.Now = 1, func() time.Time { return m.now }
	open := func(random io.Reader) *secrets.Store {
		v, err := secrets.Open(testContext(t), eventstoretest.OpenOn(t, c), eventstoretest.MasterKey, random)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	m.here, m.ahead = open(random), open(rand.Reader)
	return m
}

func (m *minute) put(token domain.Token) secrets.CardRef {
	m.t.Helper()
	ref := secrets.CardRef{Account: "acct", Token: token, TokenizedAt: m.now}
	if err := m.here.PutCard(testContext(m.t), ref, processor.Card{Number: "4111111111111111", CVV: "737"}, m.now.Add(time.Minute)); err != nil {
		m.t.Fatal(err)
	}
	return ref
}

func (m *minute) opens(ref secrets.CardRef, want bool) {
	m.t.Helper()
	card, err := m.here.Card(testContext(m.t), ref, ref.TokenizedAt)
	if want && (err != nil || card.CVV != "737") || !want && !errors.Is(err, secrets.ErrGone) {
		m.t.Errorf("%s: CVV %q, %v", ref.Token, card.CVV, err)
	}
}

// TestKeyMadeAnew checks that data that was sealed before a key was destroyed stays erased,
// although the name has a new key.
func TestKeyMadeAnew(t *testing.T) {
	t.Parallel()
	here, there, now := twoVaults(t)
	key := secrets.PersonalKeyName("acct", "customer", "")
	before := sealFor(t, here, key)
	if err := eventstoretest.Again(testContext(t), func() error { return here.Destroy(testContext(t), key) }); err != nil {
		t.Fatal(err)
	}
	now.Add(int64(2 * time.Second))
	after := sealFor(t, there, key)
	for _, v := range []*secrets.Store{here, there} {
		opens(t, v, before, false)
		opens(t, v, after, true)
	}
	broken := *after
	broken.Box = append([]byte(nil), after.Box...)
	broken.Box[len(broken.Box)-1] ^= 1
	if _, err := here.Open(testContext(t), &broken); !errors.Is(err, secrets.ErrSealed) {
		t.Errorf("a changed box: %v", err)
	}
}

// TestDestroyWhatAnotherMadeAnew: a destruction by a node that knows only an earlier value of the
// name ends the later one.
func TestDestroyWhatAnotherMadeAnew(t *testing.T) {
	t.Parallel()
	c := eventstoretest.Cluster(t)
	c.Shards = 1
	open := func() *secretlog.Stream {
		b, err := eventstoretest.OpenOn(t, c).OpenSecrets(testContext(t))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	here, there := open(), open()
	name := "again.acct.1"
	create(t, here, name)
	holds(t, there, name, true)
	if err := eventstoretest.Again(testContext(t), func() error { return here.Destroy(testContext(t), name) }); err != nil {
		t.Fatal(err)
	}
	create(t, here, name)
	if err := eventstoretest.Again(testContext(t), func() error { return there.Destroy(testContext(t), name) }); err != nil {
		t.Fatal(err)
	}
	holds(t, here, name, false)
}
