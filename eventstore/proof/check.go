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

// Check checks a file with the ledger's verifier key. A Fault names the first event that does not
// hold.
func Check(f File, key string) (Checked, error) {
	verifier, err := parseKey(key)
	if err != nil {
		return Checked{}, err
	}
	c := Checked{Account: f.Account, Payment: f.Payment}
	if c.Tree, err = openTree(f.Checkpoint, verifier); err != nil {
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
	text, err := open(f.Newest, verifier)
	if err != nil {
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
	line, of, err := parseRaw(e.Raw)
	fault := func(reason string) error { return Fault{revision, line.Type, reason} }
	sum := sha256.Sum256(append(before[:], e.Raw...))
	switch {
	case hex.EncodeToString(sum[:]) != e.Hash:
		return Line{}, none, fault("its bytes do not have its hash: it was changed, or the event before it is missing")
	case err != nil:
		return Line{}, none, fault(err.Error())
	case e.Revision != revision || line.Revision != revision:
		return Line{}, none, fault(fmt.Sprintf("its revision is %d, and its bytes say %d", e.Revision, line.Revision))
	case of != subject:
		return Line{}, none, fault("it belongs to " + of + ", not to this payment")
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
	line.Position, line.Hash = e.Position, e.Hash
	return line, sum, nil
}

// hashed are the names of an event's lines, in order.
var hashed = []string{
	"ce-specversion", "ce-id", "ce-type", "ce-source", "ce-subject", "ce-time", "content-type", "Ledger-Schema", "Ledger-Revision",
	"Ledger-Command-Id", "Ledger-Correlation-Id", "Ledger-Actor",
}

func parseRaw(raw []byte) (line Line, subject string, err error) {
	rest, values := string(raw), map[string]string{}
	for _, name := range hashed {
		text, after, found := strings.Cut(rest, "\n")
		value, named := strings.CutPrefix(text, name+":")
		if !found || !named {
			return line, subject, fmt.Errorf("its bytes lack the line %s", name)
		}
		values[name], rest = value, after
		line, subject = Line{Time: values["ce-time"], Type: values["ce-type"], Actor: values["Ledger-Actor"]}, values["ce-subject"]
	}
	if !strings.HasPrefix(rest, "\n") {
		return line, subject, fmt.Errorf("its bytes have no empty line before the body")
	}
	line.Revision, err = strconv.ParseUint(values["Ledger-Revision"], 10, 64)
	return line, subject, err
}
