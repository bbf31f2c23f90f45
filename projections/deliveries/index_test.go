package deliveries

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"payledger/domain"
	_ "payledger/domain/scratchtest"
	"payledger/projections/listing"
	"payledger/projections/sqlitefile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const mine domain.AccountID = "acct1"

var start = time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openIndex(t testing.TB, dir string) *Index {
	t.Helper()
	x, err := Open(context.Background(), dir, zerolog.Nop())
	must(t, err)
	return x
}

func markAt(seq uint64) Mark {
	return Mark{Seq: seq, Name: fmt.Sprint("name", seq), Hash: sha256.Sum256([]byte{byte(seq)})}
}

// row is delivery n as its record at seq has it; two in a row were planned in the same microsecond.
func row(n int, seq uint64, status string) Row {
	at := start.Add(time.Duration(n/2) * time.Second)
	r := Row{
		ID: fmt.Sprintf("id%06d", n*7919%1_000_000), Name: fmt.Sprintf("acct1.e%d.ev%d.PAYMENT-STATUS", n%3, n), Seq: seq, Account: mine,
		Endpoint: domain.EndpointID(fmt.Sprint("e", n%3)), EventType: []string{"PAYMENT.STATUS", "PAYMENT.REFUND"}[n%2],
		EventID: fmt.Sprint("ev", n), Aggregate: "payment", AggregateID: fmt.Sprint("pay", n/4), Status: status, PlannedAt: at, UpdatedAt: at,
	}
	if status != "PLANNED" {
		r.Attempts, r.StatusCode, r.UpdatedAt = 1, 503, at.Add(1234*time.Microsecond)
	}
	if status == "SUCCEEDED" {
		r.SucceededAt, r.SucceededBy = r.UpdatedAt, r.Attempts
	}
	if status == "FAILED" {
		r.NextAt, r.Failure, r.Failed = at.Add(10*time.Second), "STATUS", 1
	}
	return r
}

// listAll reads a list page by page.
func listAll(t *testing.T, x *Index, f Filter, limit int) (ids []string) {
	t.Helper()
	for from := (*listing.Place)(nil); ; {
		page, err := x.List(context.Background(), mine, f, from, limit)
		must(t, err)
		if page.Next != nil && len(page.Data) != limit {
			t.Fatalf("a page of %d with a next one", len(page.Data))
		}
		for _, r := range page.Data {
			ids = append(ids, r.ID)
		}
		if from = page.Next; from == nil {
			return ids
		}
	}
}

// TestRows: a row is given back as it was written; a later record replaces it and an earlier one
// does not, in a batch and over batches, and after the file was opened again.
func TestRows(t *testing.T) {
	dir := t.TempDir()
	x := openIndex(t, dir)
	ctx := context.Background()
	must(t, x.Apply(ctx, []Row{row(1, 1, "PLANNED"), row(2, 2, "PLANNED"), row(1, 3, "FAILED")}, markAt(3)))
	must(t, x.Apply(ctx, []Row{row(2, 4, "SUCCEEDED")}, markAt(4)))
	must(t, x.Apply(ctx, []Row{row(2, 2, "PLANNED")}, markAt(4))) // seen before
	for range 2 {
		for _, want := range []Row{row(1, 3, "FAILED"), row(2, 4, "SUCCEEDED")} {
			got, found, err := x.Find(ctx, mine, want.ID)
			if err != nil || !found || !reflect.DeepEqual(got, want) {
				t.Errorf("found %+v %v, want %+v", got, err, want)
			}
			if _, found, err := x.Find(ctx, "acct2", want.ID); found || err != nil {
				t.Errorf("another account finds %s: %v", want.ID, err)
			}
		}
		if x.Mark() != markAt(4) {
			t.Errorf("at %+v", x.Mark())
		}
		must(t, x.Close())
		x = openIndex(t, dir)
	}
	must(t, x.Reset(ctx))
	if left := listAll(t, x, Filter{}, 10); len(left) != 0 || x.Mark() != (Mark{}) {
		t.Errorf("after a reset: %q, %+v", left, x.Mark())
	}
	must(t, x.Close())
}

// TestAnew: a file that is damaged, of another version or no database at all is made anew.
func TestAnew(t *testing.T) {
	for name, corrupt := range map[string]func(t *testing.T, x *Index, path string){
		"no database": func(t *testing.T, _ *Index, path string) {
			must(t, os.WriteFile(path, []byte("this is no database, but long enough to be taken for one"), 0o600))
		},
		"another version": func(t *testing.T, x *Index, _ string) {
			_, err := x.file.Writer().ExecContext(context.Background(), "UPDATE meta SET identity = 'payledger deliveries 0'")
			must(t, err)
		},
		"no tables": func(t *testing.T, x *Index, _ string) {
			_, err := x.file.Writer().ExecContext(context.Background(), "DROP TABLE meta")
			must(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			x := openIndex(t, dir)
			must(t, x.Apply(context.Background(), []Row{row(1, 1, "PLANNED")}, markAt(1)))
			if name != "no database" {
				corrupt(t, x, "")
			}
			must(t, x.Close())
			if name == "no database" {
				corrupt(t, nil, filepath.Join(dir, FileName))
			}
			x = openIndex(t, dir)
			if left := listAll(t, x, Filter{}, 10); len(left) != 0 || x.Mark().Seq != 0 {
				t.Errorf("left are %q at %d", left, x.Mark().Seq)
			}
			must(t, x.Close())
		})
	}
}

// fits reports whether a row matches a filter. It is a second, simple definition of the filter.
func fits(f Filter, r Row) bool {
	return r.Account == mine && (len(f.Statuses) == 0 || slices.Contains(f.Statuses, r.Status)) &&
		(len(f.EventTypes) == 0 || slices.Contains(f.EventTypes, r.EventType)) &&
		(f.Endpoint == "" || f.Endpoint == r.Endpoint) && (f.Payment == "" || string(f.Payment) == r.AggregateID && r.Aggregate == "payment") &&
		(!f.EverFailed || r.Failed > 0) && (f.From == nil || !r.PlannedAt.Before(*f.From)) && (f.To == nil || !r.PlannedAt.After(*f.To))
}

// TestList checks that every combination of filters returns the matching rows, newest first, in
// pages of any length (D20).
func TestList(t *testing.T) {
	x := openIndex(t, t.TempDir())
	defer func() { must(t, x.Close()) }()
	var rows []Row
	states := []string{"SUCCEEDED", "SUCCEEDED", "SUCCEEDED", "EXHAUSTED", "PLANNED", "FAILED", "CANCELLED"}
	for n := range 70 {
		r := row(n, uint64(n+1), states[n%len(states)])
		if n%3 == 0 || r.Status == "EXHAUSTED" {
			r.Failed = 1 + n%2
		}
		switch n % 11 {
		case 0:
			r.Account = "acct2"
		case 1:
			r.Aggregate = "dispute"
		}
		rows = append(rows, r)
	}
	must(t, x.Apply(context.Background(), rows, markAt(70)))
	slices.SortFunc(rows, func(a, b Row) int {
		if c := b.PlannedAt.Compare(a.PlannedAt); c != 0 {
			return c
		}
		return slices.Compare([]byte(b.ID), []byte(a.ID))
	})
	early, late := start.Add(5*time.Second), start.Add(20*time.Second)
	tried := 0
	for _, statuses := range [][]string{nil, {"EXHAUSTED"}, {"FAILED", "PLANNED"}, {"SUCCEEDED", "CANCELLED"}} {
		for _, kinds := range [][]string{nil, {"PAYMENT.REFUND"}, {"PAYMENT.REFUND", "PAYMENT.STATUS"}, {"DISPUTE.OPENED"}} {
			for _, endpoint := range []domain.EndpointID{"", "e1"} {
				for _, pay := range []domain.PaymentID{"", "pay5"} {
					for _, from := range []*time.Time{nil, &early} {
						for _, to := range []*time.Time{nil, &late} {
							for _, failed := range []bool{false, true} {
								f := Filter{statuses, kinds, endpoint, pay, from, to, failed}
								var want []string
								for _, r := range rows {
									if fits(f, r) {
										want = append(want, r.ID)
									}
								}
								limit := []int{1, 2, 7, 100}[tried%4]
								if got := listAll(t, x, f, limit); !slices.Equal(got, want) {
									t.Errorf("%+v: %q, want %q", f, got, want)
								}
								tried++
							}
						}
					}
				}
			}
		}
	}
}

// TestFailedIsIndexed: the list of deliveries that failed reads no other ones, in its order and
// without sorting, with each other filter.
func TestFailedIsIndexed(t *testing.T) {
	x := openIndex(t, t.TempDir())
	defer func() { must(t, x.Close()) }()
	for want, filters := range map[string][]Filter{
		"deliveries_failed": {{}, {Endpoint: "e1"}, {EventTypes: []string{"PAYMENT.REFUND"}}, {Statuses: []string{"SUCCEEDED"}}, {Statuses: []string{"FAILED", "PLANNED"}, From: &start, To: &start}},
		"deliveries_status": {{Statuses: []string{"EXHAUSTED"}}, {Statuses: []string{"FAILED", "EXHAUSTED"}, Endpoint: "e1"}},
		"deliveries_about":  {{Payment: "pay1"}},
	} {
		for _, f := range filters {
			f.EverFailed = true
			query, args := listQuery(mine, f, &listing.Place{At: start, ID: "id"}, 10)
			plan, err := sqlitefile.Read(context.Background(), x.file.Readers(), func(scan sqlitefile.Scan) (step string, err error) {
				var ignored int
				return step, scan(&ignored, &ignored, &ignored, &step)
			}, "EXPLAIN QUERY PLAN "+query, args...)
			must(t, err)
			text := strings.Join(plan, "; ")
			if page, _, _ := strings.Cut(text, "SCAN page"); !strings.Contains(page, want) || strings.Contains(page, "TEMP B-TREE") || strings.Contains(page, "SCAN deliveries") {
				t.Errorf("%+v: %s", f, text)
			}
		}
	}
}

// TestStablePages checks that deliveries added while a list is read change no later page.
func TestStablePages(t *testing.T) {
	x := openIndex(t, t.TempDir())
	defer func() { must(t, x.Close()) }()
	ctx := context.Background()
	for n := range 10 {
		must(t, x.Apply(ctx, []Row{row(n, uint64(n+1), "SUCCEEDED")}, markAt(uint64(n+1))))
	}
	want := listAll(t, x, Filter{}, 100)
	var got []string
	for from, n := (*listing.Place)(nil), 10; ; n++ {
		page, err := x.List(ctx, mine, Filter{}, from, 3)
		must(t, err)
		for _, r := range page.Data {
			got = append(got, r.ID)
		}
		if from = page.Next; from == nil {
			break
		}
		must(t, x.Apply(ctx, []Row{row(n, uint64(n+1), "PLANNED"), row(1, uint64(n+1), "EXHAUSTED")}, markAt(uint64(n+1))))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestWaitFor: who waits goes on when the record is there, when the index stops, or when ctx ends.
func TestWaitFor(t *testing.T) {
	x := openIndex(t, t.TempDir())
	defer func() { must(t, x.Close()) }()
	ctx, cancel := context.WithCancel(context.Background())
	arrived := make(chan error, 2)
	go func() { arrived <- x.WaitFor(context.Background(), 2) }()
	go func() { arrived <- x.WaitFor(ctx, 3) }()
	must(t, x.Apply(ctx, []Row{row(1, 1, "PLANNED")}, markAt(1)))
	must(t, x.Apply(ctx, []Row{row(1, 2, "FAILED")}, markAt(2)))
	must(t, <-arrived)
	cancel()
	if err := <-arrived; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	go func() { arrived <- x.WaitFor(context.Background(), 3) }()
	broken := errors.New("broken")
	x.Stop(broken)
	if err := <-arrived; !errors.Is(err, ErrStopped) || !errors.Is(err, broken) {
		t.Error(err)
	}
	must(t, x.WaitFor(context.Background(), 2))
}

// BenchmarkApply is two records a delivery, planned and sent: each iteration is one record. It
// reports the size of a delivery in the file, too.
func BenchmarkApply(b *testing.B) {
	for _, size := range []int{16, 512} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			dir := b.TempDir()
			x := openIndex(b, dir)
			var rows []Row
			for n := range b.N { // 1,024 are planned, then their outcomes come
				delivery, status := n/2048*1024+n%1024, "PLANNED"
				if n/1024%2 == 1 {
					status = "SUCCEEDED"
				}
				r := row(delivery, uint64(n+1), status)
				sum := sha256.Sum256([]byte(fmt.Sprint(delivery))) // ids are spread, as they are
				r.ID = fmt.Sprintf("%x", sum[:13])
				rows = append(rows, r)
			}
			b.ResetTimer()
			for chunk := range slices.Chunk(rows, size) {
				must(b, x.Apply(context.Background(), chunk, markAt(chunk[len(chunk)-1].Seq)))
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
			must(b, x.Close())
			files, err := os.ReadDir(dir)
			must(b, err)
			total := int64(0)
			for _, file := range files {
				info, err := file.Info()
				must(b, err)
				total += info.Size()
			}
			b.ReportMetric(2*float64(total)/float64(b.N), "B/delivery")
		})
	}
}

// BenchmarkEverFailed reads a page of 100 of 1,000,000 deliveries, of which one in 1,000, or each,
// failed once and succeeded then.
func BenchmarkEverFailed(b *testing.B) {
	for _, each := range []int{1000, 1} {
		x := openIndex(b, b.TempDir())
		var rows []Row
		for n := range 1_000_000 {
			r := row(n, uint64(n+1), "SUCCEEDED")
			sum := sha256.Sum256([]byte(fmt.Sprint(n))) // ids are spread, as they are
			if r.ID = fmt.Sprintf("%x", sum[:13]); n%each == 0 {
				r.Failed = 1
			}
			if rows = append(rows, r); len(rows) == 512 {
				must(b, x.Apply(context.Background(), rows, markAt(r.Seq)))
				rows = rows[:0]
			}
		}
		for name, f := range map[string]Filter{
			"all": {}, "failed": {EverFailed: true}, "failed to e1": {EverFailed: true, Endpoint: "e1"}, "exhausted": {EverFailed: true, Statuses: []string{"EXHAUSTED", "PLANNED"}},
		} {
			b.Run(fmt.Sprintf("one in %d/%s", each, name), func(b *testing.B) {
				for b.Loop() {
					_, err := x.List(context.Background(), mine, f, nil, 100)
					must(b, err)
				}
			})
		}
		must(b, x.Close())
	}
}
