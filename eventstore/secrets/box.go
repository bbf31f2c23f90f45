package secrets

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// KeySize is the size of the master key and of every data key: AES-256.
const KeySize = 32

// Key is an AES-256 key.
type Key [KeySize]byte

// ErrSealed means that a box does not open: another key, another name, or changed bytes.
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

// String hides the key from logs; Text writes it out.
func (k Key) String() string { return "[key]" }

// Text is the form that ParseKey reads.
func (k Key) Text() string { return hex.EncodeToString(k[:]) }

// NewKey makes a key from random.
func NewKey(random io.Reader) (Key, error) {
	var k Key
	_, err := io.ReadFull(random, k[:])
	return k, err
}

// seal encrypts plain and binds it to name.
func seal(aead cipher.AEAD, random io.Reader, name string, plain []byte) ([]byte, error) {
	nonce := make([]byte, aead.NonceSize(), aead.NonceSize()+len(plain)+aead.Overhead())
	if _, err := io.ReadFull(random, nonce); err != nil {
		return nil, fmt.Errorf("secrets: random: %w", err)
	}
	return aead.Seal(nonce, nonce, plain, []byte(name)), nil
}

// open is the inverse of seal.
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

// aead prepares the key for use: that takes longer than sealing a person's data.
func (k Key) aead() (cipher.AEAD, error) {
	block, err := aes.NewCipher(k[:])
	if err != nil {
		return nil, fmt.Errorf("secrets: %w", err)
	}
	return cipher.NewGCM(block)
}

// masterKeyFile holds the master key of a data folder that was not given one (sandbox).
const masterKeyFile = "master.key"

// MasterKeyPath is where a data folder keeps its own master key.
func MasterKeyPath(dir string) string { return filepath.Join(dir, masterKeyFile) }

// MasterKey returns the key in text (from PAYLEDGER_MASTER_KEY), or the one in the folder if text is empty. It makes none: the
// error is os.ErrNotExist if there is no key.
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

// NewMasterKey makes a master key and stores it in the folder, readable by the owner only. An existing one is replaced: a caller
// makes sure that nothing is sealed under it.
func NewMasterKey(dir string, random io.Reader) (Key, error) {
	k, err := NewKey(random)
	if err != nil {
		return k, err
	}
	return k, writeDurably(MasterKeyPath(dir), []byte(k.Text()+"\n"))
}

// Check returns ErrSealed unless the value of a name, as it is stored, opens with the master key k.
func (k Key) Check(name string, value []byte) error {
	box, err := k.aead()
	if err != nil {
		return err
	}
	_, err = open(box, name, value)
	return err
}

// writeDurably makes a file that is there whole or not at all, also after a power failure.
func writeDurably(path string, data []byte) error {
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("secrets: %w", err)
	}
	_, writeErr := f.Write(data)
	if err := errors.Join(writeErr, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("secrets: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("secrets: %w", err)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("secrets: %w", err)
	}
	return errors.Join(dir.Sync(), dir.Close())
}
