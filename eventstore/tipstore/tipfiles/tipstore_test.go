package tipfiles_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	_ "payledger/domain/scratchtest"
	"payledger/eventstore/tipstore"
	"payledger/eventstore/tipstore/tipfiles"
)

func open(t *testing.T, o tipstore.Options) *tipstore.Store {
	t.Helper()
	s, err := tipfiles.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// set commits one batch.
func set(t *testing.T, s *tipstore.Store, pairs ...string) {
	t.Helper()
	b := s.NewBatch()
	var errs []error
	for i := 0; i < len(pairs); i += 2 {
		errs = append(errs, b.Set([]byte(pairs[i]), []byte(pairs[i+1])))
	}
	if err := errors.Join(append(errs, b.Commit())...); err != nil || b.Len() == 0 {
		t.Fatal(err, b.Len())
	}
}

// TestStore: a batch is visible at once and after a restart, unset keys are not found, and a view
// stays unchanged.
func TestStore(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]string{"in a folder": t.TempDir(), "in memory": ""} {
		t.Run(name, func(t *testing.T) {
			s := open(t, tipstore.Options{Dir: dir})
			set(t, s, "a1", "one", "a2", "two", "b", "three", "\xff\xff", "last")
			view := s.Snapshot()
			set(t, s, "a1", "newer", "a3", "more")
			check(t, s, "a1", "newer")
			for _, get := range readers(s) {
				if _, err := get([]byte("a")); !errors.Is(err, tipstore.ErrNotFound) {
					t.Error(err)
				}
			}
			all := ""
			add := func(key, value []byte) error { all += fmt.Sprintf("%s=%s ", key, value); return nil }
			if err := errors.Join(view.Each([]byte("a"), add), view.Each([]byte("\xff"), add)); err != nil || all != "a1=one a2=two \xff\xff=last " {
				t.Error(err, all)
			}
			errStop := errors.New("enough")
			if err := view.Each(nil, func(_, _ []byte) error { return errStop }); !errors.Is(err, errStop) {
				t.Error(err)
			}
			view.Close()
			if err := s.Flush(); err != nil {
				t.Error(err)
			}
			late := s.NewBatch()
			if err := errors.Join(late.Set([]byte("c"), nil), s.Close()); err != nil {
				t.Error(err)
			}
			_, getErr := s.Snapshot().Get([]byte("b"))
			for _, err := range []error{late.Commit(), s.Flush(), getErr, s.Each(nil, add)} {
				if !errors.Is(err, tipstore.ErrClosed) {
					t.Errorf("after Close: %v", err)
				}
			}
			if dir == "" {
				return
			}
			s = open(t, tipstore.Options{Dir: dir})
			check(t, s, "a1", "newer")
			check(t, s, "b", "three")
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func check(t *testing.T, s *tipstore.Store, key, want string) {
	t.Helper()
	for _, get := range readers(s) {
		if value, err := get([]byte(key)); err != nil || string(value) != want {
			t.Errorf("%s: %q, %v", key, value, err)
		}
	}
}

// readers are the ways to read one key, which must agree.
func readers(s *tipstore.Store) []func([]byte) ([]byte, error) {
	return []func([]byte) ([]byte, error){s.Get, s.Find}
}

// TestCrash: flushed batches are there after a crash; a batch that was not flushed is there whole
// or not at all.
func TestCrash(t *testing.T) {
	t.Parallel()
	dir, after := t.TempDir(), t.TempDir()
	s := open(t, tipstore.Options{Dir: dir})
	defer s.Close()
	set(t, s, "a", "1", "applied", "1")
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	set(t, s, "a", "2", "applied", "2")
	if err := os.CopyFS(after, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	crashed := open(t, tipstore.Options{Dir: after})
	defer crashed.Close()
	a, errA := crashed.Get([]byte("a"))
	applied, errApplied := crashed.Get([]byte("applied"))
	if errA != nil || errApplied != nil || string(a) != string(applied) {
		t.Errorf("%q %v, applied %q %v", a, errA, applied, errApplied)
	}
}

// someKeys is the number of keys in a table that is damaged. Each read of a damaged block looks for
// the flipped bit, in a time that grows with the square of the block's size.
const someKeys = 250

// TestDamage: a damaged table is found by the read that meets it or by the next Open, which says so
// until the store is discarded. The damage is reported, and the folder of a store that is only read
// is left as it is.
func TestDamage(t *testing.T) {
	t.Parallel()
	for _, readOnly := range []bool{false, true} {
		t.Run(fmt.Sprintf("read only %t", readOnly), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := open(t, tipstore.Options{Dir: dir})
			for i := range someKeys {
				set(t, s, fmt.Sprintf("key%d", i), fmt.Sprintf("value %d", i*i))
			}
			if err := errors.Join(s.Flush(), s.Close()); err != nil {
				t.Fatal(err)
			}
			tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
			if err != nil || len(tables) == 0 {
				t.Fatal(err, tables)
			}
			for _, table := range tables {
				data, err := os.ReadFile(table)
				if err != nil {
					t.Fatal(err)
				}
				data[100] ^= 1
				if err := os.WriteFile(table, data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var reported error
			s, err = tipfiles.Open(tipstore.Options{Dir: dir, ReadOnly: readOnly, Failed: func(err error) { reported = err }})
			if err == nil {
				lost := 0
				for i := range someKeys {
					value, err := s.Get([]byte(fmt.Sprintf("key%d", i)))
					if errors.Is(err, tipstore.ErrDamaged) {
						lost++
					} else if err != nil || string(value) != fmt.Sprintf("value %d", i*i) {
						t.Fatalf("%q, %v", value, err)
					}
				}
				if lost == 0 || !errors.Is(reported, tipstore.ErrDamaged) {
					t.Errorf("%d values lost, reported %v", lost, reported)
				}
				s.Close()
			}
			_, marked := os.Stat(filepath.Join(dir, "DAMAGED"))
			if readOnly {
				if marked == nil {
					t.Error("the folder was marked")
				}
				return
			}
			if _, err := tipfiles.Open(tipstore.Options{Dir: dir}); !errors.Is(err, tipstore.ErrDamaged) {
				t.Errorf("opened again: %v", err)
			}
			if err := tipstore.Discard(dir); err != nil {
				t.Fatal(err)
			}
			s = open(t, tipstore.Options{Dir: dir})
			if _, err := s.Get([]byte("key1")); !errors.Is(err, tipstore.ErrNotFound) {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestDamageIsReadOnce: a look-up that met damage is answered without another read of the damaged
// block: Pebble would search it for a flipped bit again. All other look-ups go on.
func TestDamageIsReadOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key := func(i int) []byte { return []byte(fmt.Sprintf("key%04d", i)) }
	s := open(t, tipstore.Options{Dir: dir})
	const keys = 1000 // some blocks
	for i := range keys {
		set(t, s, string(key(i)), fmt.Sprintf("value %d%40d", i, i))
	}
	if err := errors.Join(s.Flush(), s.Close()); err != nil {
		t.Fatal(err)
	}
	tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil || len(tables) != 1 {
		t.Fatal(err, tables)
	}
	data, err := os.ReadFile(tables[0])
	if err != nil {
		t.Fatal(err)
	}
	data[100] ^= 1
	if err := os.WriteFile(tables[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	s, _, reads, err := tipfiles.OpenWatched(tipstore.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	view := s.Snapshot()
	defer view.Close()
	for name, read := range map[string]func(i int) error{
		"get":       func(i int) error { return second(s.Get(key(i))) },
		"find":      func(i int) error { return second(s.Find(key(i))) },
		"of a view": func(i int) error { return second(view.Get(key(i))) },
		"range": func(i int) error {
			return view.Range(key(i), key(i+1), func(_, _ []byte) error { return nil })
		},
	} {
		first := read(0)
		*reads = 0
		again := read(0)
		if !errors.Is(first, tipstore.ErrDamaged) || !errors.Is(again, tipstore.ErrDamaged) || *reads != 0 {
			t.Errorf("%s: %v, then %v with %d reads", name, first, again, *reads)
		}
		if err := read(keys - 1); err != nil {
			t.Errorf("%s in a whole block: %v", name, err)
		}
	}
	set(t, s, string(key(0)), "new")
	if got, err := s.Get(key(0)); err != nil || string(got) != "new" {
		t.Errorf("a key that was written again: %q, %v", got, err)
	}
	if err := second(s.Get(key(1))); !errors.Is(err, tipstore.ErrDamaged) {
		t.Errorf("another key of the damaged block: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

// TestDamagedFilter: a flipped bit anywhere in a table, its filter included, never makes a key that
// is there look as if it were not.
func TestDamagedFilter(t *testing.T) {
	t.Parallel()
	whole := t.TempDir()
	s := open(t, tipstore.Options{Dir: whole})
	for i := range someKeys {
		set(t, s, fmt.Sprintf("key%d", i), fmt.Sprintf("value %d", i*i))
	}
	if err := errors.Join(s.Flush(), s.Close()); err != nil {
		t.Fatal(err)
	}
	tables, err := filepath.Glob(filepath.Join(whole, "*.sst"))
	if err != nil || len(tables) != 1 {
		t.Fatal(err, tables)
	}
	data, err := os.ReadFile(tables[0])
	if err != nil {
		t.Fatal(err)
	}
	noticed := 0
	for at := 0; at < len(data); at += len(data)/64 + 1 {
		dir := t.TempDir()
		flipped := bytes.Clone(data)
		flipped[at] ^= 4
		if err := errors.Join(os.CopyFS(dir, os.DirFS(whole)), os.WriteFile(filepath.Join(dir, filepath.Base(tables[0])), flipped, 0o600)); err != nil {
			t.Fatal(err)
		}
		s, err := tipfiles.Open(tipstore.Options{Dir: dir})
		if err == nil {
			err = readAll(t, s)
			s.Close()
		}
		if errors.Is(err, tipstore.ErrDamaged) {
			noticed++
		} else if err != nil {
			t.Errorf("byte %d of %d: %v", at, len(data), err)
		}
	}
	if noticed == 0 {
		t.Error("no flip was noticed")
	}
	t.Logf("%d flips were noticed", noticed)
}

// readAll reads the data of TestDamagedFilter, up to the first damage.
func readAll(t *testing.T, s *tipstore.Store) error {
	for i := range someKeys {
		for _, get := range readers(s) {
			value, err := get([]byte(fmt.Sprintf("key%d", i)))
			if err != nil {
				return err
			}
			if string(value) != fmt.Sprintf("value %d", i*i) {
				t.Errorf("key%d: %q", i, value)
			}
		}
	}
	return nil
}

// TestMiddle: the middle divides the keys of several files into two parts that together have each
// key once.
func TestMiddle(t *testing.T) {
	t.Parallel()
	s := open(t, tipstore.Options{Dir: t.TempDir()})
	var want []string
	for i := range 8 {
		key := fmt.Sprintf("a%d", i)
		want = append(want, key)
		set(t, s, key, "value")
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	view := s.Snapshot()
	middle := view.Middle([]byte("a"))
	if middle == nil || view.Middle([]byte("b")) != nil {
		t.Fatalf("middle %q", middle)
	}
	var halves [2][]string
	for half, ends := range [2][2][]byte{{[]byte("a"), middle}, {middle, tipstore.After([]byte("a"))}} {
		err := view.Range(ends[0], ends[1], func(key, _ []byte) error {
			halves[half] = append(halves[half], string(key))
			return nil
		})
		if err != nil || len(halves[half]) == 0 {
			t.Errorf("half %d: %v, %v", half, halves[half], err)
		}
	}
	if got := append(halves[0], halves[1]...); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	view.Close()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
