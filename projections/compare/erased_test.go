package compare

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"payledger/domain/person"
	"payledger/eventstore"
	"payledger/eventstore/verify"
	"payledger/projections"
)

// TestErasedRows: a payment's row has no e-mail hash exactly if the log has the erasure of its
// person, whichever of the two the check reads first.
func TestErasedRows(t *testing.T) {
	t.Parallel()
	file := views(t)
	id := string(projections.PersonOf("acct", "customer", "session"))
	erased := verify.Newest{
		Key: eventstore.Persons.Key("acct", id), Stream: "LEDGER_0_1", Seq: newest()[0].Seq, Revision: 1,
		State: person.State{Account: "acct", CustomerID: "customer", Erased: 1, ErasedAt: began},
	}
	const empty = "UPDATE payments SET email_hash = ''"
	for name, c := range map[string]struct {
		changes []string
		erased  bool // in the log
		want    string
	}{
		"not erased":             {nil, false, ""},
		"erased":                 {[]string{empty, personRow(erased)}, true, ""},
		"emptied without reason": {[]string{empty}, false, "nobody erased its customer"},
		"emptied, no person":     {[]string{empty}, true, "have no row of it in persons"},
		"emptied, wrong person":  {[]string{empty, personRow(erased)}, false, "the views have 1 rows of persons"},
		"not emptied":            {[]string{personRow(erased)}, true, "the e-mail hash of 1 payments of person " + id},
	} {
		for _, first := range []bool{true, false} {
			states := newest()
			switch {
			case c.erased && first:
				states = append([]verify.Newest{erased}, states...)
			case c.erased:
				states = append(states, erased)
			}
			db := changed(t, file, "")
			for _, change := range c.changes {
				execute(t, db, change)
			}
			all := against(t, db, states)
			found := slices.ContainsFunc(all, func(f string) bool { return strings.Contains(f, c.want) })
			if c.want == "" && len(all) > 0 || c.want != "" && !found {
				t.Errorf("%s: %q does not have %q", name, all, c.want)
			}
		}
	}
}

func personRow(n verify.Newest) string {
	s := n.State.(person.State)
	return fmt.Sprintf("INSERT INTO persons VALUES ('%s', '%s', '%s', '', %d, %d, 0)", n.Key.ID, s.Account, s.CustomerID, s.Erased, s.ErasedAt.UnixMicro())
}

func execute(t *testing.T, db *sql.DB, change string) {
	t.Helper()
	if _, err := db.Exec(change); err != nil {
		t.Fatal(change, err)
	}
}
