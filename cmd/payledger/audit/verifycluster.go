package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/note"

	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/eventstore"
	"payledger/eventstore/archive"
	"payledger/eventstore/remote"
	"payledger/eventstore/secretlog"
	"payledger/eventstore/secrets"
	"payledger/eventstore/verify"
)

// checkCluster checks the log of a cluster through its NATS servers, up to ends that were
// acknowledged. It appends nothing, and needs no node.
func (c *Verify) checkCluster(ctx context.Context, request VerifyRequest, emit func(verifyLine) error) (result verified, err error) {
	log, err := remote.Open(ctx, c.Access())
	if errors.Is(err, eventstore.ErrNotFound) {
		err = fmt.Errorf("the NATS cluster %s holds no ledger: name its servers with --nats-url", c.Access().Servers())
	}
	if err != nil {
		return result, err
	}
	defer log.Close()
	ends, err := log.Ends(ctx)
	if err != nil {
		return result, err
	}
	check := checker{request: request, emit: emit, cluster: true}
	switch master, err := c.masterKeys(); {
	case err != nil:
		return result, options.Usage(err)
	case len(master) == 0:
		check.note = unsigned
	default:
		if err := check.verifierOn(ctx, log.Secrets(), master); err != nil {
			return result, err
		}
	}
	return check.run(ctx, archive.OfServed(archive.At(log, ends)))
}

// masterKeys returns the master key, and the one before if a rotation is not complete; none without
// a key.
func (c *Verify) masterKeys() (keys []secrets.Key, err error) {
	text, err := options.ReadSecret("--master-key", c.MasterKey, c.MasterKeyFile)
	if err != nil || text == "" {
		return nil, err
	}
	previous, err := options.ReadSecret("--master-key-previous", c.MasterKeyPrevious, c.MasterKeyPreviousFile)
	for _, text := range []string{text, previous} {
		if err != nil || text == "" {
			continue
		}
		var key secrets.Key
		key, err = secrets.ParseKey(text)
		keys = append(keys, key)
	}
	return keys, err
}

// verifierOn takes the key that checks signatures from the secrets of a cluster.
func (c *checker) verifierOn(ctx context.Context, stored secretlog.Reader, master []secrets.Key) error {
	public, err := secrets.Verifier(stored.All(ctx), master...)
	switch {
	case errors.Is(err, eventstore.ErrNotFound):
		c.keyless = true
		return nil
	case errors.Is(err, secrets.ErrSealed):
		return errForeignKey
	case err == nil:
		c.verifier, err = note.NewVerifier(public)
	}
	return err
}

// VerifyCluster checks the log of a cluster, without the nodes' views and tip store, and returns
// verify's sentence. A fault is an error.
func VerifyCluster(ctx context.Context, files *archive.Archive, stored secretlog.Reader, master []secrets.Key, bar *terminal.Bar) (string, error) {
	begun := time.Now()
	var first *verify.Fault
	check := checker{emit: func(l verifyLine) error {
		if l.Fault != nil {
			first = l.Fault
		} else {
			bar.Events(l.Done, l.Of)
		}
		return nil
	}}
	if err := check.verifierOn(ctx, stored, master); err != nil {
		return "", err
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
