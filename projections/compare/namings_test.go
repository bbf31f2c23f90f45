package compare

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/domain/session"
	"payledger/eventstore"
	"payledger/eventstore/format"
	"payledger/eventstore/verify"
)

// named returns the events of a session: it names a customer, changes without another name, and
// names another customer.
func named(t testing.TB) (all []*eventstore.Recorded) {
	t.Helper()
	for i, customer := range []string{"first", "first", "second"} {
		state := session.State{UpdatedAt: began.Add(time.Duration(i) * time.Second), ExpiresAt: began}
		state.CustomerID = customer
		var e session.Event = session.Changed{}
		if i == 0 {
			e = session.Created{}
		}
		r := &eventstore.Recorded{Key: eventstore.Sessions.Key("acct", "session"), Seq: format.At(1, i), Number: uint64(i) + 1, Type: e.Type(), Schema: eventstore.Sessions.Schema, Revision: uint64(i) + 1}
		var err error
		if r.Body, err = eventstore.Sessions.Core.Encode("", e, state); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// namingFaults compares the rows of namings with the events of a session, and returns the reported
// faults.
func namingFaults(t testing.TB, file *sql.DB) (all []string) {
	t.Helper()
	ctx := context.Background()
	c, err := Stopped(ctx, file, func(f verify.Fault) error { all = append(all, f.String()); return nil })
	for _, r := range named(t) {
		err = errors.Join(err, c.Event(ctx, r))
	}
	for _, n := range newest() {
		err = errors.Join(err, c.Add(ctx, n))
	}
	if err = errors.Join(err, c.Shown(last()), c.Finish(ctx)); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestNamings: the comparison finds a wrong, a missing and an extra row of namings: an erasure
// finds the sessions of a person by them. It also finds a table that nothing compares.
func TestNamings(t *testing.T) {
	t.Parallel()
	file := views(t)
	insert := func(db *sql.DB, customer string, since time.Time) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), `INSERT INTO namings VALUES ('acct', ?, 'session', ?)`, customer, since.UnixMicro()); err != nil {
			t.Fatal(err)
		}
	}
	whole := func() *sql.DB {
		t.Helper()
		db := changed(t, file, "")
		insert(db, "first", began)
		insert(db, "second", began.Add(2*time.Second))
		return db
	}
	if all := namingFaults(t, whole()); len(all) > 0 {
		t.Fatalf("a whole file: %q", all)
	}
	for change, want := range map[string]string{
		`UPDATE namings SET customer = 'other' WHERE customer = 'first'`:        "session session names its customer",
		`UPDATE namings SET account = 'other' WHERE customer = 'second'`:        "session session names its customer",
		`UPDATE namings SET session = 'other' WHERE customer = 'second'`:        "session session names its customer",
		`UPDATE namings SET since = since + 5000000 WHERE customer = 'first'`:   "session session names its customer",
		`UPDATE namings SET since = since - 1 WHERE customer = 'second'`:        "1 rows of namings that the log does not have",
		`DELETE FROM namings WHERE customer = 'second'`:                         "session session names its customer",
		`INSERT INTO namings VALUES ('acct', 'third', 'session', 1)`:            "1 rows of namings that the log does not have",
		`CREATE TABLE forgotten (id TEXT)`:                                      "the tables [forgotten], which nothing compares",
		`UPDATE namings SET customer = CAST(customer AS BLOB) WHERE since <> 0`: "session session names its customer",
	} {
		db := whole()
		if _, err := db.ExecContext(t.Context(), change); err != nil {
			t.Fatal(change, err)
		}
		if all := namingFaults(t, db); len(all) == 0 || !slices.ContainsFunc(all, func(f string) bool { return strings.Contains(f, want) }) {
			t.Errorf("%s: %q does not have %q", change, all, want)
		}
	}
}
