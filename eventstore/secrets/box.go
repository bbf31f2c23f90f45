package secrets

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"payledger/eventstore/disk"
)

// KeySize is the size of the master key and of every data key: AES-256.
const KeySize = 32

// Key is an AES-256 key.
type Key [KeySize]byte

// ErrSealed means that a box does not open: the key or the name is wrong, or bytes were changed.
var ErrSealed = errors.New("secrets: the value does not open with this key")

// ParseKey reads a key written as 64 hexadecimal digits.
func ParseKey(text string) (Key, error) {
	var k Key
	b, err := hex.DecodeString(strings.TrimSpace(text))
	if err != nil || len(b) != KeySize {
		return k, fmt.Errorf("secrets: a key is %d hexadecimal digits", 2*KeySize)
	}
	copy(k[:], b)
	return k, nil
}

// String hides the key from logs. Text returns the key.
func (k Key) String() string { return "[key]" }

// Text returns the key in the form that ParseKey reads.
func (k Key) Text() string { return hex.EncodeToString(k[:]) }

// NewKey makes a key from random.
func NewKey(random io.Reader) (Key, error) {
	var k Key
	_, err := io.ReadFull(random, k[:])
	return k, err
}

// Fingerprint names the key without revealing it.
func (k Key) Fingerprint() string {
	mac := hmac.New(sha256.New, k[:])
	mac.Write([]byte("payledger fingerprint of a master key"))
	return hex.EncodeToString(mac.Sum(nil)[:8])
}

// seal encrypts plain and binds it to name.
func seal(aead cipher.AEAD, random io.Reader, name string, plain []byte) ([]byte, error) {
	nonce := make([]byte, aead.NonceSize(), aead.NonceSize()+len(plain)+aead.Overhead())
	if _, err := io.ReadFull(random, nonce); err != nil {
		return nil, fmt.Errorf("secrets: random: %w", err)
	}
	return aead.Seal(nonce, nonce, plain, []byte(name)), nil
}

func open(aead cipher.AEAD, name string, box []byte) ([]byte, error) {
	if len(box) < aead.NonceSize() {
		return nil, ErrSealed
	}
	plain, err := aead.Open(nil, box[:aead.NonceSize()], box[aead.NonceSize():], []byte(name))
	if err != nil {
		return nil, ErrSealed
	}
	return plain, nil
}

// aead returns the key's cipher. Making it takes longer than sealing a person's data.
func (k Key) aead() (cipher.AEAD, error) {
	block, err := aes.NewCipher(k[:])
	if err != nil {
		return nil, fmt.Errorf("secrets: %w", err)
	}
	return cipher.NewGCM(block)
}

// MasterKeyPath returns the path of a data folder's generated master key (sandbox).
func MasterKeyPath(dir string) string { return filepath.Join(dir, "master.key") }

func nextKeyPath(dir string) string { return MasterKeyPath(dir) + ".next" }

func previousKeyPath(dir string) string { return MasterKeyPath(dir) + ".previous" }

// previousName is the name under which KeepPrevious seals.
const previousName = "previous-master-key"

// KeepPrevious stores the master key of a data folder, sealed with the next one, until a rotation
// is complete. With the next key a process opens all values then. The folder does not have either
// key in clear.
func KeepPrevious(dir string, previous, next Key, random io.Reader) error {
	aead, err := next.aead()
	if err != nil {
		return err
	}
	box, err := seal(aead, random, previousName, previous[:])
	if err != nil {
		return err
	}
	return write(previousKeyPath(dir), []byte(hex.EncodeToString(box)+"\n"))
}

// PreviousKey returns the key that KeepPrevious stored: os.ErrNotExist without one, and ErrSealed
// if another key was the next one.
func PreviousKey(dir string, next Key) (k Key, err error) {
	stored, err := os.ReadFile(previousKeyPath(dir))
	if err != nil {
		return k, fmt.Errorf("secrets: previous master key: %w", err)
	}
	box, err := hex.DecodeString(strings.TrimSpace(string(stored)))
	if err != nil {
		return k, ErrSealed
	}
	aead, err := next.aead()
	if err != nil {
		return k, err
	}
	plain, err := open(aead, previousName, box)
	if err == nil && copy(k[:], plain) != KeySize {
		err = ErrSealed
	}
	return k, err
}

// DropPrevious removes the previous key, which may not exist.
func DropPrevious(dir string) error { return removeFile(previousKeyPath(dir)) }

// KeepNext stores the key that a rotation is about to make the master key of a data folder.
func KeepNext(dir string, next Key) error {
	return write(nextKeyPath(dir), []byte(next.Text()+"\n"))
}

// NextKey returns the key of a rotation that is not complete, or os.ErrNotExist. It seals no value
// if the rotation has not begun.
func NextKey(dir string) (Key, error) {
	stored, err := os.ReadFile(nextKeyPath(dir))
	if err != nil {
		return Key{}, fmt.Errorf("secrets: next master key: %w", err)
	}
	return ParseKey(string(stored))
}

// OtherKeys returns the keys in a data folder that open values beside its master key, while a
// rotation is not complete. own reports whether the master key is the folder's own.
func OtherKeys(dir string, master Key, own bool) (keys []Key) {
	other, err := PreviousKey(dir, master)
	if own {
		other, err = NextKey(dir)
	}
	if err == nil { // else there is none, or it was not written to its end: the rotation has not begun
		keys = append(keys, other)
	}
	return keys
}

// TakeNext makes the next key the master key of a data folder.
func TakeNext(dir string) error {
	if err := disk.Rename(nextKeyPath(dir), MasterKeyPath(dir)); err != nil {
		return fmt.Errorf("secrets: %w", err)
	}
	return nil
}

// DropNext removes the next key, which may not exist.
func DropNext(dir string) error { return removeFile(nextKeyPath(dir)) }

// removeFile removes a file with a key, also an unfinished one, of this build or an earlier one.
func removeFile(path string) error {
	for _, path := range []string{path, path + disk.Unfinished, path + ".new"} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("secrets: %w", err)
		}
	}
	return nil
}

// MasterKey returns the key in text (from PAYLEDGER_MASTER_KEY), or the generated key of the folder
// if text is empty; os.ErrNotExist without one.
func MasterKey(text, dir string) (Key, error) {
	if text != "" {
		return ParseKey(text)
	}
	path := MasterKeyPath(dir)
	stored, err := os.ReadFile(path)
	if err != nil {
		return Key{}, fmt.Errorf("secrets: master key: %w", err)
	}
	k, err := ParseKey(string(stored))
	if err != nil {
		return k, fmt.Errorf("%s: %w", path, err)
	}
	return k, nil
}

// NewMasterKey stores a new master key in the folder. The caller ensures that no value is sealed
// under a key that it replaces.
func NewMasterKey(dir string, random io.Reader) (Key, error) {
	k, err := NewKey(random)
	if err != nil {
		return k, err
	}
	return k, write(MasterKeyPath(dir), []byte(k.Text()+"\n"))
}

// Check returns ErrSealed unless the master key k opens the stored value of a name.
func (k Key) Check(name string, value []byte) error {
	box, err := k.aead()
	if err != nil {
		return err
	}
	_, err = open(box, name, value)
	return err
}

func write(path string, data []byte) error {
	if err := disk.Write(path, data); err != nil {
		return fmt.Errorf("secrets: %w", err)
	}
	return nil
}
