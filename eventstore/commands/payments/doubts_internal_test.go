package payments

import (
	"errors"
	"fmt"
	"testing"

	"payledger/domain"
)

// TestDoubtsOfADeadShard: a pass reads a shard that fails once, and looks up all payments of the
// other shards. The payments of the shard stay for the next pass, and so does a doubt that comes
// during the look-up of its payment.
func TestDoubtsOfADeadShard(t *testing.T) {
	t.Parallel()
	const each = 50
	d := newDoubts()
	shards := map[domain.PaymentID]int{}
	for i := range 3 * each {
		id := domain.PaymentID(fmt.Sprint("payment-", i))
		shards[id] = i % 3
		d.add("account", id)
	}
	again := domain.PaymentID("payment-1")
	var reads [3]int
	pass := func(dead int) {
		d.pass(d.all(), func(id domain.PaymentID) int { return shards[id] }, func(account domain.AccountID, id domain.PaymentID) error {
			reads[shards[id]]++
			if shards[id] == dead {
				return errors.New("no majority")
			}
			if id == again {
				again = ""
				d.add(account, id)
			}
			return nil
		})
	}
	pass(0)
	if reads != [3]int{1, each, each} || len(d.all()) != each+1 {
		t.Errorf("the shards are read %v times; %d doubts are left", reads, len(d.all()))
	}
	pass(-1)
	if len(d.all()) != 0 {
		t.Errorf("%d doubts are left after the shard is back", len(d.all()))
	}
}
