package audit

import (
	"context"
	"errors"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"

	"payledger/cmd/payledger/terminal"
	"payledger/eventstore"
	"payledger/eventstore/archive"
	"payledger/eventstore/secretlog"
	"payledger/eventstore/secrets"
	"payledger/eventstore/verify"
)

// VerifyCluster checks the whole log of a cluster, without views and tip store, which belong to the nodes. It returns the sentence of
// verify. A fault is an error.
func VerifyCluster(ctx context.Context, files *archive.Archive, stored secretlog.Reader, master []secrets.Key, bar *terminal.Bar) (string, error) {
	public, err := secrets.VerifierOn(ctx, stored, master...)
	keyless := errors.Is(err, eventstore.ErrNotFound)
	if err != nil && !keyless {
		return "", err
	}
	begun := time.Now()
	var first *verify.Fault
	check := checker{keyless: keyless, emit: func(l verifyLine) error {
		if l.Fault != nil {
			first = l.Fault
		} else {
			bar.Events(l.Done, l.Of)
		}
		return nil
	}}
	if !keyless {
		if check.verifier, err = note.NewVerifier(public); err != nil {
			return "", err
		}
	}
	result, err := check.run(ctx, files)
	bar.Clear()
	if err == nil && first != nil {
		err = errors.New(first.String())
	}
	if err != nil {
		return "", err
	}
	var said strings.Builder
	err = result.print(&said, "", time.Since(begun))
	return said.String(), err
}
