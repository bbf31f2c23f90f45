package proof

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// FirstOrigin is the origin of the ledgers that were made before each ledger had an origin of its
// own.
const FirstOrigin = "payledger"

// ValidOrigin reports whether a text can be a ledger's origin. The origin is also the name of the
// ledger's key, which C2SP's signed notes restrict: no blank and no "+".
func ValidOrigin(text string) bool {
	return text != "" && len(text) <= maxOrigin && strings.IndexFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || r == '+' }) < 0
}

const maxOrigin = 128 // bytes

// ofNewest follows the origin in the first line of the text about the newest event. No origin has a
// blank.
const ofNewest = " history"

// ErrKey means that a text is no verifier key.
var ErrKey = errors.New("is no verifier key")

const maxSize = 1 << 62

// Tree is a checkpoint's log: the origin of its ledger, its size and root.
type Tree struct {
	Origin string
	Size   uint64
	Root   tlog.Hash
}

// ParseTree reads the text of a checkpoint, of any ledger.
func ParseTree(text string) (Tree, error) {
	lines := strings.Split(text, "\n")
	if len(lines) < 4 || !ValidOrigin(lines[0]) || lines[len(lines)-1] != "" {
		return Tree{}, errors.New("it is no checkpoint of a payledger")
	}
	size, err := strconv.ParseUint(lines[1], 10, 64)
	if err != nil || size >= maxSize || lines[1] != strconv.FormatUint(size, 10) {
		return Tree{}, fmt.Errorf("its size %q is no number", lines[1])
	}
	root, err := base64.StdEncoding.Strict().DecodeString(lines[2])
	if err != nil || len(root) != tlog.HashSize {
		return Tree{}, fmt.Errorf("its root %q is no hash", lines[2])
	}
	return Tree{Origin: lines[0], Size: size, Root: tlog.Hash(root)}, nil
}

// Subject names a payment as its events do.
func Subject(account, payment string) string { return account + ".payment." + payment }

// NewestText returns the text that names the newest event of a payment in the log of a checkpoint.
func NewestText(t Tree, subject string, revision uint64, hash [32]byte) string {
	return fmt.Sprintf("%s\n%d\n%s\n%s\n%d\n%s\n", t.Origin+ofNewest, t.Size, base64.StdEncoding.EncodeToString(t.Root[:]), subject, revision,
		hex.EncodeToString(hash[:]))
}

// newest reads the revision in a text that NewestText made for the tree and the subject.
func newest(text string, t Tree, subject string) (revision uint64, hash string, err error) {
	rest, ok := strings.CutPrefix(text, fmt.Sprintf("%s\n%d\n%s\n%s\n", t.Origin+ofNewest, t.Size, base64.StdEncoding.EncodeToString(t.Root[:]), subject))
	number, hash, two := strings.Cut(strings.TrimSuffix(rest, "\n"), "\n")
	revision, err = strconv.ParseUint(number, 10, 64)
	if !ok || !two || err != nil {
		return 0, "", errors.New("it is about another payment or another checkpoint")
	}
	return revision, hash, nil
}

// open returns the text of a signed note if the key signed it.
func open(signed string, key note.Verifier) (string, error) {
	n, err := note.Open([]byte(signed), note.VerifierList(key))
	var unverified *note.UnverifiedNoteError
	var invalid *note.InvalidSignatureError
	switch {
	case err == nil:
		for _, s := range append(n.Sigs, n.UnverifiedSigs...) {
			if _, err := base64.StdEncoding.Strict().DecodeString(s.Base64); err != nil {
				return "", errors.New("its signature is no strict base64")
			}
		}
		return n.Text, nil
	case errors.As(err, &unverified):
		return "", errors.New("it is signed with another key than --key")
	case errors.As(err, &invalid):
		return "", errors.New("its signature does not fit its text: it was changed")
	default:
		return "", errors.New("it is no signed note")
	}
}

// openTree returns the tree of a signed checkpoint if the key signed it, and is the key of the
// ledger that the text names.
func openTree(signed string, key note.Verifier) (Tree, error) {
	text, err := open(signed, key)
	if err != nil {
		return Tree{}, err
	}
	t, err := ParseTree(text)
	if err == nil && t.Origin != key.Name() {
		err = fmt.Errorf("it is of the ledger %s, and the key is of %s", t.Origin, key.Name())
	}
	return t, err
}

// CheckKey returns ErrKey, with the form of a key, if a text is no verifier key.
func CheckKey(text string) error {
	_, err := parseKey(text)
	return err
}

func parseKey(key string) (note.Verifier, error) {
	verifier, err := note.NewVerifier(strings.TrimSpace(key))
	if err != nil {
		return nil, fmt.Errorf("%q %w; it has the form origin+8 digits+base64, and GET /verifier-key of the ledger answers it", key, ErrKey)
	}
	return verifier, nil
}
