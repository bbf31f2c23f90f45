package proof

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"payledger/domain/exactjson"
)

// Consistency shows that a log of Size events is the beginning of the proof's log (RFC 6962,
// section 2.1.2).
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

// Old is a signed checkpoint in a witness's file.
type Old struct {
	Tree
	Number uint64 // 0: the file has a note alone
	Line   int    // in the file, from 1
	Note   string
}

// ReadCheckpoints returns every signed checkpoint in a text: one signed note, or lines of
// `payledger checkpoints`. It checks no signature.
func ReadCheckpoints(text string) (all []Old, err error) {
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		t, err := treeOf(text)
		if err != nil {
			return nil, fmt.Errorf("the old checkpoint %w", err)
		}
		return []Old{{Tree: t, Line: 1, Note: text}}, nil
	}
	for i, line := range strings.Split(text, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		var c Checkpoint
		if err := exactjson.UnmarshalStrict([]byte(line), &c); err != nil {
			return nil, fmt.Errorf("line %d is no line of payledger checkpoints: %w", i+1, err)
		}
		old, err := c.Old()
		if err != nil {
			return nil, fmt.Errorf("line %d %w", i+1, err)
		}
		old.Line = i + 1
		all = append(all, old)
	}
	return all, nil
}

// Old returns the signed checkpoint, if its number, size and root fit it. The error follows a
// subject.
func (c Checkpoint) Old() (Old, error) {
	t, err := treeOf(c.Note)
	switch {
	case err != nil:
		return Old{}, err
	case c.Number == 0:
		return Old{}, errors.New("has no number")
	case t.Size != c.Size || string(t.Root[:]) != string(c.Root):
		return Old{}, errors.New("has another size or root than its signed note")
	}
	return Old{Tree: t, Number: c.Number, Note: c.Note}, nil
}

func treeOf(signed string) (Tree, error) {
	body, _, found := strings.Cut(signed, "\n\n")
	if !found {
		return Tree{}, errors.New("is no signed note")
	}
	t, err := ParseTree(body + "\n")
	if err != nil {
		return Tree{}, fmt.Errorf("is no checkpoint: %w", err)
	}
	return t, nil
}

// ErrEquivocation means that the ledger signed two logs of which neither continues the other.
var ErrEquivocation = errors.New("the ledger signed two different logs; keep the file, it is the evidence")

// CheckOld checks that the key signed each checkpoint, and that no two of them contradict each
// other. Numbers in another order than the sizes are an error, but no ErrEquivocation: no signature
// covers them.
func CheckOld(all []Old, key string) error {
	verifier, err := parseKey(key)
	if err != nil {
		return err
	}
	for _, one := range all {
		if _, err := openTree(one.Note, verifier); err != nil {
			return fmt.Errorf("the old checkpoint in line %d: %w", one.Line, err)
		}
	}
	bySize := slices.SortedStableFunc(slices.Values(all), func(a, b Old) int {
		return cmp.Or(cmp.Compare(a.Size, b.Size), cmp.Compare(a.Number, b.Number))
	})
	for i := 1; i < len(bySize); i++ {
		a, b := bySize[i-1], bySize[i]
		root := base64.StdEncoding.EncodeToString
		switch {
		case a.Size == b.Size && a.Root != b.Root:
			return fmt.Errorf("%w: the checkpoints in the lines %d and %d are of %d events, and have the roots %s and %s",
				ErrEquivocation, a.Line, b.Line, a.Size, root(a.Root[:]), root(b.Root[:]))
		case a.Size < b.Size && a.Number >= b.Number && b.Number > 0:
			return fmt.Errorf("the numbers in the file are wrong, they are not signed: checkpoint %d in line %d is of %d events, and checkpoint %d in line %d of %d",
				a.Number, a.Line, a.Size, b.Number, b.Line, b.Size)
		}
	}
	return nil
}

// CheckSince checks that nothing before the old checkpoints was rewritten: all are signed, none
// contradicts another one, and the log of the proof begins with the log of the newest of them that
// it covers. Check has checked the file, and gave its tree.
func CheckSince(f File, now Tree, key string, all []Old) (before Tree, err error) {
	if err := CheckOld(all, key); err != nil {
		return Tree{}, err
	}
	newest, covered := Old{}, false
	for _, one := range all {
		if one.Size == now.Size && one.Root != now.Root {
			return Tree{}, rewritten(now, one.Tree)
		}
		if one.Size <= now.Size && (!covered || one.Size > newest.Size) {
			newest, covered = one, true
		}
	}
	if !covered {
		return Tree{}, fmt.Errorf("the old checkpoint covers %d events, and the proof's %d: take an older checkpoint or a newer proof", all[0].Size, now.Size)
	}
	c := f.Consistency
	for _, one := range all { // an older one, of which the file has the path
		if c == nil || one.Size != c.Size || one.Size == now.Size || one.Size == 0 || one.Size > now.Size {
			continue
		}
		path, ok := hashesOf(c.Path)
		if !ok {
			return Tree{}, errors.New("the consistency proof holds something else than hashes")
		}
		if tlog.CheckTree(path, int64(now.Size), now.Root, int64(one.Size), one.Root) != nil {
			return Tree{}, fmt.Errorf("the consistency proof was changed, or %w", rewritten(now, one.Tree))
		}
	}
	if newest.Size != now.Size && newest.Size != 0 && (c == nil || c.Size != newest.Size) {
		return Tree{}, fmt.Errorf("the proof says nothing about the log of %d events: make it with prove --since and the old checkpoint", newest.Size)
	}
	return newest.Tree, nil
}

func rewritten(now, before Tree) error {
	return fmt.Errorf("the ledger rewrote its log: its log of %d events does not begin with the log of %d events that it signed before; keep both files, they are the evidence", now.Size, before.Size)
}
