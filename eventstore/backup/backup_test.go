package backup_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestRestored: a restored log has every message of every stream with its bytes and its sequence,
// over several segments, and every secret that was not destroyed. The second run copies only new
// messages.
func TestRestored(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill(t, "a", 100)
	first := r.backup(t)
	again := r.backup(t)
	if again.New != 0 || again.Number != 2 || again.Events != first.Events {
		t.Errorf("without anything new: %+v after %+v", again, first)
	}
	r.fill(t, "b", 20)
	second := r.backup(t)
	if first.New != 800 || second.New != 160 || second.Events != 960 || second.Bytes*3 > first.Bytes {
		t.Errorf("%+v, then %+v", first, second)
	}
	r.halt(t)
	stopped := r.backup(t)
	dir, b := r.restored(t)
	if b.Number != stopped.Number || b.KeysNumber != stopped.Number {
		t.Errorf("run %d and keys %d instead of %d", b.Number, b.KeysNumber, stopped.Number)
	}
	segments := compare(t, messages(t, r.dir), messages(t, dir))
	if !segments["LEDGER_0_2"] && !segments["LEDGER_1_2"] && !segments["LEDGER_2_2"] { // ids are random: a shard may have a few payments only
		t.Errorf("no shard has a second segment: %v", segments)
	}
	for _, of := range []string{"LEDGER_0_1", "DELIVERIES_1", "CHECKPOINTS_1", "SECRETS_2"} {
		if !segments[of] {
			t.Errorf("the log has no %s: %v", of, segments)
		}
	}
	if before, after := standing(t, r.dir), standing(t, dir); len(before) != 48 || !slices.Equal(before, after) {
		t.Errorf("%d secrets became %d", len(before), len(after))
	}
}

// compare checks that a restored log has the messages of a log, and returns the streams. Its start
// appended empty groups and a copy of the newest checkpoint.
func compare(t *testing.T, before, after map[string]string) (segments map[string]bool) {
	t.Helper()
	segments = map[string]bool{}
	for _, place := range slices.Sorted(maps.Keys(before)) {
		segments[strings.Fields(place)[0]] = true
		if before[place] != after[place] {
			t.Errorf("%s: %.60s became %.60s", place, before[place], after[place])
		}
	}
	if extra := len(after) - len(before); extra < 0 || extra > 10 {
		t.Errorf("%d messages became %d", len(before), len(after))
	}
	return segments
}
