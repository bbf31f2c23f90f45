package backup_test

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"payledger/domain"
	"payledger/eventstore/backup"
	"payledger/eventstore/backup/restore"
	"payledger/eventstore/eventstoretest"
)

// BenchmarkBackup measures a back-up of the stopped log of 20,000 payments, one without anything
// new, and the restore up to the start of the service.
func BenchmarkBackup(b *testing.B) {
	r := &rig{dir: filepath.Join(b.TempDir(), "log"), large: true}
	r.start(b)
	if _, err := eventstoretest.Generate(context.Background(), r.store, domain.AccountID("account"), 20_000, 64); err != nil {
		b.Fatal(err)
	}
	r.halt(b) // the heap is then that of the back-up alone
	r.vault, r.stop, r.server = nil, nil, nil
	runtime.GC()
	for b.Loop() {
		r.out, r.keys = filepath.Join(b.TempDir(), "out"), filepath.Join(b.TempDir(), "keys")
		var first, second backup.Result
		begun := time.Now()
		heap := eventstoretest.LargestHeap(func() { first = r.backup(b) })
		copied := time.Since(begun)
		begun = time.Now()
		second = r.backup(b)
		again := time.Since(begun)
		begun = time.Now()
		from, err := restore.Open(r.out, r.keys)
		if err == nil {
			err = from.Folder(context.Background(), filepath.Join(b.TempDir(), "restored"), nil)
		}
		restored := time.Since(begun)
		if err != nil || second.New != 0 {
			b.Fatal(second, errors.Join(err))
		}
		b.ReportMetric(float64(first.New)/copied.Seconds(), "events/s")
		b.ReportMetric(float64(first.Bytes)/1e6, "MB")
		b.ReportMetric(float64(heap)/1e6, "MB-heap")
		b.ReportMetric(again.Seconds(), "s-again")
		b.ReportMetric(float64(first.New)/restored.Seconds(), "restored/s")
	}
}
