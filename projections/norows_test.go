package projections

import (
	"errors"
	"os"
	"testing"
)

// TestNoRows: without rows, reads of one aggregate and positions are as with rows, there is no
// file, and lists fail.
func TestNoRows(t *testing.T) {
	store, dir := openStore(t), t.TempDir()
	createPayment(t, store, 1)
	n := startNodeOf(t, store, dir, true)
	ctx := testContext(t)
	for i := 2; i < 5; i++ {
		s := createPayment(t, store, i)
		if err := n.CaughtUp(ctx); err != nil {
			t.Fatal(err)
		}
		shard := store.ShardOf(paymentKey(s.ID))
		if at, want := n.Positions()[shard], store.Appended()[shard]; at != want {
			t.Errorf("shard %d is at %d, not at %d", shard, at, want)
		}
		if found, err := n.Payment(ctx, testAccount, s.ID); err != nil || found.ID != s.ID {
			t.Errorf("payment %d: %v %v", i, found.ID, err)
		}
	}
	if done, of := n.Progress(); done != of || of == 0 {
		t.Errorf("%d of %d events", done, of)
	}
	for what, err := range map[string]error{
		"payments": second(n.ListPayments(ctx, testAccount, PaymentFilter{}, nil, 10)), "disputes": second(n.ListDisputes(ctx, testAccount, DisputeFilter{}, nil, 10)),
		"payments of an order": second(n.ListPayments(ctx, testAccount, PaymentFilter{OrderID: "order"}, nil, 10)),
		"cards":                second(n.DefaultInstrument(ctx, testAccount, "ada")), "operations": second(n.PendingOperations(ctx, store.Now())),
	} {
		if !errors.Is(err, ErrNoRows) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := n.Healthy(); err != nil {
		t.Error(err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("files %v, %v", files, err)
	}
	if owner, known, err := n.PaymentAccount(ctx, paymentID(1)); err != nil || known {
		t.Errorf("a payment of an account that does not exist: %q, %v", owner, err)
	}
}

func second[T any](_ T, err error) error { return err }
