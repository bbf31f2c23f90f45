package projections

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/secrets"
	"payledger/projections/listing"
)

// list reads all of an account's payments that fit, newest first, in pages of limit.
func (n *node) list(t *testing.T, account domain.AccountID, f PaymentFilter, limit int) (all []PaymentSummary) {
	t.Helper()
	for from := (*listing.Place)(nil); ; {
		page, err := n.ListPayments(testContext(t), account, f, from, limit)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page.Data...)
		if from = page.Older; from == nil {
			return all
		}
		if len(page.Data) != limit {
			t.Fatalf("a page of %d has %d payments, and there are more", limit, len(page.Data))
		}
	}
}

// TestListShowsAcknowledged checks that each of many concurrent callers finds its record in the
// list as soon as it is acknowledged, in a status that is not older (D11).
func TestListShowsAcknowledged(t *testing.T) {
	t.Parallel()
	store := openStore(t)
	n := startNode(t, store, t.TempDir())
	find := func(id domain.PaymentID) (PaymentSummary, bool) {
		all := n.list(t, testAccount, PaymentFilter{}, 100)
		i := slices.IndexFunc(all, func(s PaymentSummary) bool { return s.ID == id })
		if i < 0 {
			return PaymentSummary{}, false
		}
		return all[i], true
	}
	var callers sync.WaitGroup
	for caller := range 8 {
		callers.Go(func() {
			for i := range 4 {
				id := paymentID(caller*100 + i)
				createPayment(t, store, caller*100+i)
				if s, there := find(id); !there || s.Status != payment.StatusPending {
					t.Errorf("after its creation %+v, %t", s, there)
				}
				answerPayment(t, store, id, approved())
				if s, there := find(id); !there || s.Status != payment.StatusAuthorized {
					t.Errorf("after its authorization %+v, %t", s, there)
				}
			}
		})
	}
	callers.Wait()
	for _, s := range n.list(t, testAccount, PaymentFilter{}, 5) {
		if read, err := n.Payment(testContext(t), testAccount, s.ID); err != nil || read.Status() != s.Status || !read.UpdatedAt.Equal(s.DateUpdated.Time) {
			t.Errorf("listed %+v, read %s, %v", s, read.Status(), err)
		}
	}
	if all := n.list(t, "acct2", PaymentFilter{}, 5); len(all) > 0 {
		t.Errorf("another account sees %v", all)
	}
}

// TestListUnavailable: a read model that does not come is said to be unavailable (D3).
func TestListUnavailable(t *testing.T) {
	store := openStore(t)
	n := startNode(t, store, t.TempDir())
	n.stop()
	createPayment(t, store, 1)
	if _, err := n.ListPayments(testContext(t), testAccount, PaymentFilter{}, nil, 10); domain.ReasonOf(err) != domain.ReasonServiceUnavailable {
		t.Errorf("stopped: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := n.ListPayments(ctx, testAccount, PaymentFilter{}, nil, 10); domain.ReasonOf(err) != domain.ReasonServiceUnavailable {
		t.Errorf("given up: %v", err)
	}
}

// TestListByEmail checks that payments are found by their customer's address in any spelling, by no
// other address, and no longer after the customer's key is destroyed. The remaining payments fill
// the pages.
func TestListByEmail(t *testing.T) {
	store := openStore(t)
	n := startNode(t, store, t.TempDir())
	ctx := testContext(t)
	var made []domain.PaymentID
	for i, c := range []struct{ customer, email string }{
		{"ada", "Ada@Example.com"}, {"twin", " ada@example.com "}, {"ada", "ada@example.com"}, {"bob", "bob@example.com"},
		{"twin", "ADA@EXAMPLE.COM"}, {"nobody", ""}, {"ada", "ada@example.com"}, {"other", "ada@example.org"},
	} {
		key := secrets.PersonalKeyName(testAccount, c.customer, "")
		sealed, err := n.Secrets.Seal(ctx, key, domain.Personal{Customer: &domain.Customer{Email: c.email, FirstName: "A"}})
		if err != nil {
			t.Fatal(err)
		}
		s := command(t, store, eventstore.Payments, paymentKey(paymentID(i)), func(s payment.State, m eventstore.Meta) (payment.Event, error) {
			create := createCommand(m.At, i)
			create.Personal = sealed
			return payment.DecideCreate(s, create)
		})
		if (s.EmailHash == "") != (c.email == "") {
			t.Errorf("%q has the hash %q", c.email, s.EmailHash)
		}
		made = append(made, s.ID)
	}
	want := func(account domain.AccountID, limit int, emails []string, numbers ...int) {
		t.Helper()
		got := ids(n.list(t, account, PaymentFilter{Emails: emails}, limit), func(s PaymentSummary) domain.PaymentID { return s.ID })
		if !slices.Equal(got, ids(numbers, func(i int) domain.PaymentID { return made[i] })) {
			t.Errorf("%q: %v, want %v of %v", emails, got, numbers, made)
		}
	}
	want(testAccount, 100, []string{"ADA@example.com"}, 6, 4, 2, 1, 0)
	want(testAccount, 2, []string{"ada@example.com", "\tbob@example.com", "ADA@EXAMPLE.COM"}, 6, 4, 3, 2, 1, 0)
	want(testAccount, 100, []string{"ad@example.com", "", " "})
	want("acct2", 100, []string{"ada@example.com"})
	if err := n.Secrets.Destroy(ctx, secrets.PersonalKeyName(testAccount, "ada", "")); err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int{1, 2, 100} {
		want(testAccount, limit, []string{"ada@example.com"}, 4, 1)
	}
	if all := n.list(t, testAccount, PaymentFilter{}, 100); len(all) != len(made) {
		t.Errorf("without the filter %d payments, want %d: the payments themselves stay", len(all), len(made))
	}
}

// TestEmailHash: an address has another hash in every account, and none of its letters in it.
func TestEmailHash(t *testing.T) {
	n := startNode(t, openStore(t), t.TempDir())
	hashes := map[string]string{}
	for _, account := range []domain.AccountID{"acct1", "acct2"} {
		for _, email := range []string{"ada@example.com", "ada@example.org", ""} {
			hash, err := n.Secrets.EmailHash(account, email)
			if err != nil || (hash == "") != (email == "") || hash != "" && len(hash) != 32 {
				t.Fatalf("%s: %q, %v", email, hash, err)
			}
			again, err := n.Secrets.EmailHash(account, " "+email+"\n")
			if err != nil || again != hash {
				t.Errorf("%q: %s, then %s, %v", email, hash, again, err)
			}
			if of := fmt.Sprint(account, " ", email); hash != "" && hashes[hash] != "" {
				t.Errorf("%s and %s have the same hash", of, hashes[hash])
			} else {
				hashes[hash] = of
			}
		}
	}
}

// TestListMerchantOfTheNewestTry checks that the filters processor and merchant_id match the
// payment's newest try, and the filters tried_processor and tried_result every try.
func TestListMerchantOfTheNewestTry(t *testing.T) {
	store := openStore(t)
	n := startNode(t, store, t.TempDir())
	s := command(t, store, eventstore.Payments, paymentKey(paymentID(1)), func(s payment.State, m eventstore.Meta) (payment.Event, error) {
		create := createCommand(m.At, 1)
		create.Route = []payment.Target{{Processor: processor.Adyen, MerchantID: "first"}, {Processor: processor.Stripe, MerchantID: "second"}}
		return payment.DecideCreate(s, create)
	})
	at := func(name, merchant string) int {
		return len(n.list(t, testAccount, PaymentFilter{Processors: []string{name}, MerchantIDs: []string{merchant}}, 10))
	}
	if at("ADYEN", "first") != 1 || at("STRIPE", "second") != 0 {
		t.Error("before the answer it is not at the first processor")
	}
	answerPayment(t, store, s.ID, processor.Answer{State: processor.Failed, Retryable: true})
	if at("ADYEN", "first") != 0 || at("STRIPE", "second") != 1 {
		t.Error("after a technical error it is not at the second processor")
	}
	tried := func(name string, results ...string) int {
		return len(n.list(t, testAccount, PaymentFilter{TriedProcessors: []string{name}, TriedResults: results}, 10))
	}
	if tried("ADYEN") != 1 || tried("ADYEN", "FAILED") != 1 || tried("ADYEN", "APPROVED", "DECLINED") != 0 || tried("STRIPE") != 1 || tried("STRIPE", "FAILED") != 0 || tried("PAYPAL") != 0 {
		t.Error("its two tries are not found")
	}
}
