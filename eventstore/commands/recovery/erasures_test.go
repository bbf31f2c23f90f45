package recovery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/domain"
)

// erasing carries out erasures; some fail.
type erasing struct {
	Commands
	fails map[domain.PersonID]bool
	done  []domain.PersonID
}

var errKept = errors.New("the key is not destroyed")

func (e *erasing) FinishErasure(_ context.Context, _ domain.AccountID, id domain.PersonID) error {
	if e.fails[id] {
		return errKept
	}
	e.done = append(e.done, id)
	return nil
}

// TestErasuresGoOn checks that a failing erasure delays no other one, on its page or on later ones,
// and that the first error is returned.
func TestErasuresGoOn(t *testing.T) {
	t.Parallel()
	var all []Erased
	for i := range 2*pageSize + 3 {
		all = append(all, Erased{ID: domain.PersonID(fmt.Sprintf("person%04d", i)), Account: "acct"})
	}
	work := &erasing{fails: map[domain.PersonID]bool{all[1].ID: true, all[pageSize-1].ID: true, all[pageSize+7].ID: true}}
	r := New(Config{Commands: work, ErasedPersons: func(_ context.Context, _ time.Time, after domain.PersonID, limit int) ([]Erased, error) {
		at := slices.IndexFunc(all, func(e Erased) bool { return e.ID > after })
		if at < 0 {
			return nil, nil
		}
		return all[at:min(len(all), at+limit)], nil
	}})
	err := r.finishErasures(t.Context(), time.Time{})
	if !errors.Is(err, errKept) || !strings.Contains(err.Error(), string(all[1].ID)) {
		t.Errorf("the error is %v", err)
	}
	if want := len(all) - len(work.fails); len(work.done) != want {
		t.Errorf("%d erasures are done, expected %d", len(work.done), want)
	}
	work.fails, work.done = nil, nil
	if err := r.finishErasures(t.Context(), time.Time{}); err != nil || len(work.done) != len(all) {
		t.Errorf("the next run does %d erasures: %v", len(work.done), err)
	}
}
