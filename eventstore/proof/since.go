package proof

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"payledger/domain/exactjson"
)

// Consistency shows that a log of Size events is the beginning of the proof's log (RFC 6962, section 2.1.2).
type Consistency struct {
	Size uint64  `json:"size"`
	Path []Bytes `json:"path"`
}

// Checkpoint is one signed checkpoint, a line of `payledger checkpoints`.
type Checkpoint struct {
	Number uint64 `json:"number"` // from 1, without a gap
	Size   uint64 `json:"size"`
	Root   Bytes  `json:"root"`
	Note   string `json:"note"` // the signed note; it has size and root, too
}

// ReadCheckpoint returns the signed note in a text: the note itself, or the last line of `payledger checkpoints`.
func ReadCheckpoint(text string) (signed string, t Tree, err error) {
	signed = text
	if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "{") {
		lines := strings.Split(trimmed, "\n")
		var c Checkpoint
		if err := exactjson.UnmarshalStrict([]byte(lines[len(lines)-1]), &c); err != nil {
			return "", t, fmt.Errorf("the old checkpoint is no line of payledger checkpoints: %w", err)
		}
		signed = c.Note
	}
	body, _, found := strings.Cut(signed, "\n\n")
	if !found {
		return "", t, errors.New("the old checkpoint is no signed note")
	}
	if t, err = ParseTree(body + "\n"); err != nil {
		return "", t, fmt.Errorf("the old checkpoint: %w", err)
	}
	return signed, t, nil
}

// CheckSince checks that nothing before an old checkpoint was rewritten: the log of the proof begins with the log of the old
// checkpoint. Check has checked the file, and gave its tree.
func CheckSince(f File, now Tree, key, old string) (Tree, error) {
	verifier, err := parseKey(key)
	if err != nil {
		return Tree{}, err
	}
	signed, before, err := ReadCheckpoint(old)
	if err == nil {
		_, err = open(signed, verifier)
	}
	rewritten := fmt.Errorf("the ledger rewrote its log: its log of %d events does not begin with the log of %d events that it signed before; keep both files, they are the evidence", now.Size, before.Size)
	switch c := f.Consistency; {
	case err != nil:
		return Tree{}, fmt.Errorf("the old checkpoint: %w", err)
	case before.Size > now.Size:
		return Tree{}, fmt.Errorf("the old checkpoint covers %d events, and the proof's %d: take an older checkpoint or a newer proof", before.Size, now.Size)
	case before.Size == now.Size && before.Root == now.Root, before.Size == 0:
		return before, nil
	case before.Size == now.Size:
		return Tree{}, rewritten
	case c == nil || c.Size != before.Size:
		return Tree{}, fmt.Errorf("the proof says nothing about the log of %d events: make it with prove --since and the old checkpoint", before.Size)
	default:
		path, ok := hashesOf(c.Path)
		if !ok {
			return Tree{}, errors.New("the consistency proof holds something else than hashes")
		}
		if tlog.CheckTree(path, int64(now.Size), now.Root, int64(before.Size), before.Root) != nil {
			return Tree{}, fmt.Errorf("the consistency proof was changed, or %w", rewritten)
		}
		return before, nil
	}
}
