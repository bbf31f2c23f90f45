package audit

import (
	"context"
	"errors"
	"time"

	"golang.org/x/mod/sumdb/note"

	"payledger/cmd/payledger/terminal"
	"payledger/eventstore"
	"payledger/eventstore/archive"
	"payledger/eventstore/secretlog"
	"payledger/eventstore/secrets"
	"payledger/eventstore/verify"
)

// VerifyCluster checks the log of a cluster, without the nodes' views and tip store, and returns
// verify's sentence. A fault is an error.
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
	return result.text("", time.Since(begun)), nil
}
