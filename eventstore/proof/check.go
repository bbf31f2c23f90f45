package proof

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// Fault is an event that fails the check.
type Fault struct {
	Revision uint64
	Type     string // "" if it cannot be read
	Reason   string
}

// Error names the event and the reason.
func (f Fault) Error() string {
	name := fmt.Sprintf("event %d", f.Revision)
	if f.Type != "" {
		name += " (" + f.Type + ")"
	}
	return name + ": " + f.Reason
}

// Checked is the content of a proof that holds.
type Checked struct {
	Account, Payment string
	Tree             Tree
	Events           []Line
}

// Line has the attributes of an event for people.
type Line struct {
	Revision, Position      uint64
	Time, Type, Actor, Hash string
}

// Check checks a file with the ledger's verifier key. A Fault names the first event that does not hold.
func Check(f File, key string) (Checked, error) {
	verifier, err := parseKey(key)
	if err != nil {
		return Checked{}, err
	}
	text, err := open(f.Checkpoint, verifier)
	if err != nil {
		return Checked{}, fmt.Errorf("the checkpoint: %w", err)
	}
	c := Checked{Account: f.Account, Payment: f.Payment}
	if c.Tree, err = ParseTree(text); err != nil {
		return Checked{}, fmt.Errorf("the checkpoint: %w", err)
	}
	subject, last := Subject(f.Account, f.Payment), [sha256.Size]byte{}
	position := uint64(0)
	for i, e := range f.Events {
		line, hash, err := checkEvent(e, uint64(i)+1, subject, last, c.Tree)
		if err != nil {
			return Checked{}, err
		}
		if e.Position <= position {
			return Checked{}, Fault{line.Revision, line.Type, "its position is not behind that of the event before"}
		}
		last, position = hash, e.Position
		c.Events = append(c.Events, line)
	}
	if text, err = open(f.Newest, verifier); err != nil {
		return Checked{}, fmt.Errorf("the note about the newest event: %w", err)
	}
	revision, hash, err := newest(text, c.Tree, subject)
	if err != nil {
		return Checked{}, fmt.Errorf("the note about the newest event: %w", err)
	}
	if revision != uint64(len(f.Events)) || hash != hex.EncodeToString(last[:]) {
		return Checked{}, fmt.Errorf("events are missing at the end: the ledger signed that event %d is the newest one, and the file ends with event %d", revision, len(f.Events))
	}
	return c, nil
}

// checkEvent checks the event at a revision, which follows the event with the hash before.
func checkEvent(e Event, revision uint64, subject string, before [sha256.Size]byte, t Tree) (Line, [sha256.Size]byte, error) {
	var none [sha256.Size]byte
	line, err := parseRaw(e.Raw)
	fault := func(reason string) error { return Fault{revision, line.typ, reason} }
	sum := sha256.Sum256(append(before[:], e.Raw...))
	switch {
	case hex.EncodeToString(sum[:]) != e.Hash:
		return Line{}, none, fault("its bytes do not have its hash: it was changed, or the event before it is missing")
	case err != nil:
		return Line{}, none, fault(err.Error())
	case e.Revision != revision || line.revision != revision:
		return Line{}, none, fault(fmt.Sprintf("its revision is %d, and its bytes say %d", e.Revision, line.revision))
	case line.subject != subject:
		return Line{}, none, fault("it belongs to " + line.subject + ", not to this payment")
	case e.Position == 0 || e.Position > t.Size:
		return Line{}, none, fault(fmt.Sprintf("its position %d is not in the log of %d events", e.Position, t.Size))
	}
	path, ok := hashesOf(e.Path)
	if !ok {
		return Line{}, none, fault("its path holds something else than hashes")
	}
	if tlog.CheckRecord(path, int64(t.Size), t.Root, int64(e.Position-1), tlog.RecordHash(sum[:])) != nil {
		return Line{}, none, fault(fmt.Sprintf("its path does not lead to the checkpoint's root: it is not at position %d of the log that was signed, or the path was changed", e.Position))
	}
	return Line{Revision: revision, Position: e.Position, Time: line.time, Type: line.typ, Actor: line.actor, Hash: e.Hash}, sum, nil
}

// hashed are the names of an event's lines, in order.
var hashed = []string{
	"ce-specversion", "ce-id", "ce-type", "ce-source", "ce-subject", "ce-time", "content-type", "Ledger-Schema", "Ledger-Revision",
	"Ledger-Command-Id", "Ledger-Correlation-Id", "Ledger-Actor",
}

// attributes are the lines of an event that the check reads.
type attributes struct {
	typ, subject, time, actor string
	revision                  uint64
}

// parseRaw reads the lines of an event.
func parseRaw(raw []byte) (a attributes, err error) {
	rest, values := string(raw), map[string]string{}
	for _, name := range hashed {
		line, after, found := strings.Cut(rest, "\n")
		value, named := strings.CutPrefix(line, name+":")
		if !found || !named {
			return a, fmt.Errorf("its bytes lack the line %s", name)
		}
		values[name], rest = value, after
		a = attributes{typ: values["ce-type"], subject: values["ce-subject"], time: values["ce-time"], actor: values["Ledger-Actor"]}
	}
	if !strings.HasPrefix(rest, "\n") {
		return a, fmt.Errorf("its bytes have no empty line before the body")
	}
	a.revision, err = strconv.ParseUint(values["Ledger-Revision"], 10, 64)
	return a, err
}
