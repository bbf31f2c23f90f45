package audit

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"

	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/eventstore/proof"
)

// CheckProof checks the proof of one payment, without a server (I1).
type CheckProof struct {
	File  string `arg:"" help:"File that prove wrote." type:"path"`
	Key   string `required:"" help:"Verifier key of the ledger, as prove and GET /verifier-key print it." placeholder:"VERIFIER_KEY"`
	Since string `help:"File with old checkpoints: check that nothing before the newest was rewritten, and that no two contradict each other." type:"path" placeholder:"CHECKPOINT"`
}

// Run checks the file, and prints its events and the result.
func (c *CheckProof) Run(_ context.Context, std terminal.Streams, _ options.Arguments) (err error) {
	if err := proof.CheckKey(c.Key); err != nil {
		return options.Usage(fmt.Errorf("--key: %w", err))
	}
	file, checked, err := checkFile(c.File, c.Key)
	var unreadable *fs.PathError
	switch {
	case errors.As(err, &unreadable):
		return err
	case err != nil:
		return fmt.Errorf("%s: %w; if the key is the ledger's, keep this file and make another one with `payledger prove`", c.File, err)
	}
	since := ""
	if c.Since != "" {
		old, err := readCheckpoints(c.Since)
		if err != nil {
			return err
		}
		before, err := proof.CheckSince(file, checked.Tree, c.Key, old)
		if err != nil {
			return fmt.Errorf("%s with %s: %w", c.File, c.Since, err)
		}
		since = fmt.Sprintf("Nothing was rewritten: the log begins with the log of %s of the old checkpoint.\n", terminal.Count(before.Size, "event"))
	}
	for _, e := range checked.Events {
		fmt.Fprintf(std.Out, "%d  %s  %s\n", e.Revision, terminal.Harmless(e.Time), terminal.Harmless(e.Type))
		fmt.Fprintf(std.Out, "   by %s, position %d, hash %s\n", terminal.Harmless(e.Actor), e.Position, e.Hash)
	}
	payment := terminal.Harmless(checked.Payment)
	_, err = fmt.Fprintf(std.Out, "The proof holds: the %s unchanged in a log of %s with the root %s; none is missing, and event %d is the newest one there.\n%s",
		terminal.Count(len(checked.Events), "event of payment "+payment+" stands", "events of payment "+payment+" stand"), terminal.Count(checked.Tree.Size, "event"),
		base64.StdEncoding.EncodeToString(checked.Tree.Root[:]), len(checked.Events), since)
	return err
}
