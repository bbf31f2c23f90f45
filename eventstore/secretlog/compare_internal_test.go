package secretlog

import (
	"encoding/binary"
	"errors"
	"testing"
)

// TestCompareWhileASegmentIsDropped: a segment is not compared from the moment at which the tip
// store knows that it is dropped. Its records leave the tip store in several writes, its witness
// with the last of them, and its files later still.
func TestCompareWhileASegmentIsDropped(t *testing.T) {
	t.Parallel()
	tips := tipsInMemory(t)
	var w Witness
	w.saw("SECRETS_1", 7)
	w.saw("SECRETS_2", 9)
	batch := tips.NewBatch()
	_, err := w.Write(batch)
	if err = errors.Join(err, batch.Commit()); err != nil {
		t.Fatal(err)
	}
	compared := func(stream string, want bool) {
		t.Helper()
		view := tips.Snapshot()
		defer view.Close()
		if c, err := compare(view, stream); err != nil || (c != nil) != want {
			t.Errorf("%s: %v, %v", stream, c, err)
		}
	}
	compared("SECRETS_1", true)
	compared("SECRETS_2", true)
	floor := append(binary.BigEndian.AppendUint64(nil, 9), newDropped(1, 7, 2).body...)
	batch = tips.NewBatch()
	if err := errors.Join(batch.Set([]byte(droppedKey()), floor), batch.Commit()); err != nil {
		t.Fatal(err)
	}
	compared("SECRETS_1", false)
	compared("SECRETS_2", true)
}
